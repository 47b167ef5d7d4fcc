-- permit_claim(holder, model, n): permits for n calls for which there is work at hand, as many as can be had at once. Where
-- they are fewer, one place in the queue is kept: dispatchers are one more caller among those who wait, and who keeps the
-- place is told when it is served (permit_serve) and asks again. With n = 0 the place is given up, and what it was given and
-- did not use goes back, token and all.
-- Returns granted, and wait_ms if a place was kept: when it is worth asking again. Locks: permit_lock, unless there is
-- nothing to do.
CREATE OR REPLACE FUNCTION camserver.permit_claim(
    p_holder uuid, p_model text, p_n integer, OUT granted uuid[], OUT wait_ms integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    c_caller CONSTANT text := 'dispatcher';
    v_ttl_sec numeric := setting_number('permit_ttl_sec');
    v_until timestamptz;
    v_now timestamptz;
    v_more uuid[];
BEGIN
    granted := '{}';
    IF p_n = 0 AND NOT EXISTS (SELECT 1 FROM permit_waiters w WHERE w.holder = p_holder AND w.model = p_model)
        AND NOT EXISTS (SELECT 1 FROM permits p WHERE p.holder = p_holder AND p.model = p_model AND p.fresh) THEN
        RETURN;
    END IF;
    v_now := permit_lock(ARRAY[p_model]);
    v_until := v_now + make_interval(secs => v_ttl_sec::float8);
    IF p_n = 0 THEN
        WITH gone AS (DELETE FROM permit_waiters w WHERE w.holder = p_holder AND w.model = p_model RETURNING 1)
        UPDATE buckets b SET waiting = b.waiting - g.n FROM (SELECT count(*)::integer AS n FROM gone) g
        WHERE b.level = 'model' AND b.name = p_model;
        PERFORM permit_return(ARRAY(SELECT p.permit_id FROM permits p
            WHERE p.holder = p_holder AND p.model = p_model AND p.fresh), v_now);
        PERFORM permit_serve(ARRAY[p_model], p_holder, v_now);
        RETURN;
    END IF;

    UPDATE permit_waiters w SET seen_until = v_until, deadline_at = v_until WHERE w.holder = p_holder AND w.model = p_model;
    PERFORM permit_serve(ARRAY[p_model], p_holder, v_now);
    granted := permit_grant(p_holder, p_model, c_caller, p_n - (SELECT count(*)::integer FROM permits p
        WHERE p.holder = p_holder AND p.model = p_model AND p.fresh), v_now, v_until);
    LOOP
        WITH told AS (
            UPDATE permits p SET fresh = false, expires_at = v_until WHERE p.permit_id IN (
                SELECT x.permit_id FROM permits x WHERE x.holder = p_holder AND x.model = p_model AND x.fresh
                LIMIT p_n - cardinality(granted))
            RETURNING p.permit_id)
        SELECT array_agg(t.permit_id) INTO v_more FROM told t;
        granted := granted || coalesce(v_more, '{}');
        EXIT WHEN cardinality(granted) >= p_n;
        IF EXISTS (SELECT 1 FROM permit_waiters w WHERE w.holder = p_holder AND w.model = p_model) THEN
            wait_ms := least(permit_due_ms(p_model, v_now), v_ttl_sec * 1000 / 3);
            EXIT;
        END IF;
        PERFORM permit_enqueue(gen_random_uuid(), p_model, c_caller, p_holder, v_now, v_until, v_until);
        PERFORM permit_serve(ARRAY[p_model], p_holder, v_now);
    END LOOP;
END $$;
