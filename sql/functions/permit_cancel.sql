-- permit_cancel(requests, holder): requests that shall wait no longer.
--   p_requests  [{"id", "model", "keep": boolean}]; keep: its time is up - but a permit that it was given at the last
--               moment it keeps; otherwise the asker is gone, and such a permit is released at once
-- Returns a jsonb array of the same order: outcome GRANTED (only with keep), RELEASED, CANCELLED, or RATE_LIMITED with the
-- reason DEADLINE and the numbers (only with keep). Whichever comes first, grant or cancel, the other one sees it: no
-- permit is left behind. Locks: permit_lock.
CREATE OR REPLACE FUNCTION camserver.permit_cancel(p_requests jsonb, p_holder uuid DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_models text[] := ARRAY(SELECT DISTINCT r->>'model' FROM jsonb_array_elements(p_requests) r);
    v_ids uuid[] := ARRAY(SELECT (r->>'id')::uuid FROM jsonb_array_elements(p_requests) r);
    v_now timestamptz := permit_lock(v_models, ARRAY(SELECT unnest(bucket_ids) FROM permits WHERE permit_id = ANY (v_ids)));
    v_request record;
    v_answers jsonb := '[]';
    v_state jsonb;
BEGIN
    FOR v_request IN
        SELECT (r->>'id')::uuid AS id, r->>'model' AS model, coalesce((r->>'keep')::boolean, false) AS keep
        FROM jsonb_array_elements(p_requests) WITH ORDINALITY AS e (r, n) ORDER BY e.n
    LOOP
        v_state := permit_state(v_request.id, v_now);
        IF v_state->>'outcome' = 'GRANTED' AND v_request.keep THEN
            UPDATE permits SET fresh = false WHERE permit_id = v_request.id AND fresh;
        ELSIF v_state->>'outcome' = 'GRANTED' THEN
            PERFORM permit_end(ARRAY[v_request.id], 'released', v_now);
            v_state := jsonb_build_object('outcome', 'RELEASED');
        ELSIF v_request.keep THEN
            v_state := permit_refusal(v_request.id, v_request.model, 'DEADLINE', coalesce((v_state->>'place')::integer, 1), v_now);
            PERFORM permit_leave(ARRAY[v_request.id], 'deadline', v_now, (v_state->>'level')::limit_level);
        ELSE
            PERFORM permit_leave(ARRAY[v_request.id], 'cancelled', v_now);
            v_state := jsonb_build_object('outcome', 'CANCELLED');
        END IF;
        v_answers := v_answers || (coalesce(v_state, '{}') || jsonb_build_object('id', v_request.id));
    END LOOP;
    PERFORM permit_serve(v_models, p_holder, v_now);
    RETURN v_answers;
END $$;
