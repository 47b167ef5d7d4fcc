-- permit_state(id, now): how a request stands: jsonb with outcome GRANTED or WAITING (ticket, place from 1, deadline_ms),
-- and in both cases permit_facts and where the call goes; NULL if it neither has a permit nor waits. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.permit_state(p_id uuid, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_model text;
    v_state jsonb;
    v_place integer := 1;
BEGIN
    SELECT p.model, jsonb_build_object('outcome', 'GRANTED', 'caller', p.caller,
        'waited_ms', round(extract(epoch FROM p.granted_at - p.asked_at) * 1000)) INTO v_model, v_state
    FROM permits p WHERE p.permit_id = p_id;
    IF NOT FOUND THEN
        SELECT w.model, jsonb_build_object('outcome', 'WAITING', 'caller', w.caller, 'ticket', w.ticket, 'place', o.place,
            'deadline_ms', greatest(0, ceil(extract(epoch FROM w.deadline_at - p_now) * 1000))), o.place
        INTO v_model, v_state, v_place
        FROM permit_waiters w CROSS JOIN LATERAL (SELECT CASE
            WHEN EXISTS (SELECT 1 FROM permit_waiters x WHERE x.model = w.model AND (x.turn, x.ticket) > (w.turn, w.ticket)) THEN
                (SELECT 1 + count(*)::integer FROM permit_waiters x WHERE x.model = w.model AND (x.turn, x.ticket) < (w.turn, w.ticket))
            ELSE -- the last one: not everybody before it needs to be counted
                (SELECT b.waiting FROM buckets b WHERE b.level = 'model' AND b.name = w.model) END AS place) o
        WHERE w.permit_id = p_id;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    RETURN jsonb_build_object('id', p_id, 'model', v_model) || v_state || permit_facts(v_model, v_place, p_now)
        || (SELECT permit_target(m, p) FROM models m JOIN providers p USING (provider_id) WHERE m.model = v_model);
END $$;
