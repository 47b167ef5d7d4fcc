-- permit_poll(holder): serves the queues in which the process waits, and tells what it got since it was last told.
-- Returns jsonb: granted, an array of permit_state, and of id, model and outcome RECALLED for stocks that are to be given back;
-- next_ms, when it is worth asking again: when the next token comes or a
-- permit runs out; a little later if another process's waiter is first there, since that one asks too and its asking serves
-- all. NULL while it waits for nothing. Locks: permit_lock.
CREATE OR REPLACE FUNCTION camserver.permit_poll(p_holder uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_second_ms CONSTANT integer := 250;
    c_longest_ms CONSTANT integer := 1000; -- where no notification comes through
    v_models text[] := ARRAY(SELECT DISTINCT model FROM permit_waiters WHERE holder = p_holder);
    v_now timestamptz := clock_timestamp();
    v_granted jsonb;
    v_next numeric;
BEGIN
    IF v_models <> '{}' THEN
        v_now := permit_lock(v_models);
        PERFORM permit_serve(v_models, p_holder, v_now);
    END IF;
    WITH told AS (UPDATE permits SET fresh = false WHERE holder = p_holder AND fresh RETURNING permit_id, model, stock)
    SELECT jsonb_agg(CASE WHEN t.stock THEN jsonb_build_object('id', t.permit_id, 'model', t.model, 'outcome', 'RECALLED')
        ELSE permit_state(t.permit_id, v_now) END) INTO v_granted FROM told t;
    IF v_models = '{}' THEN
        RETURN jsonb_build_object('granted', coalesce(v_granted, '[]'), 'next_ms', NULL);
    END IF;
    SELECT min(permit_due_ms(w.model, v_now) + CASE WHEN first.holder = p_holder THEN 0 ELSE c_second_ms END) INTO v_next
    FROM (SELECT DISTINCT model FROM permit_waiters WHERE holder = p_holder) w
    CROSS JOIN LATERAL (SELECT f.holder FROM permit_waiters f WHERE f.model = w.model ORDER BY f.turn, f.ticket LIMIT 1) first;
    RETURN jsonb_build_object('granted', coalesce(v_granted, '[]'), 'next_ms', CASE WHEN v_next IS NOT NULL THEN ceil(least(c_longest_ms, greatest(1, v_next))) END);
END $$;
