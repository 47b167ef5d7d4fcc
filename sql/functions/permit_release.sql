-- permit_release(ids, holder): calls are over. Their room is given to those who wait; no token comes back. Ids that are no
-- permits (any more) change nothing. p_holder: the process that calls, which needs no notification. Returns how many
-- permits there were. Locks: permit_lock.
CREATE OR REPLACE FUNCTION camserver.permit_release(p_ids uuid[], p_holder uuid DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_models text[];
    v_now timestamptz;
    v_count integer;
BEGIN
    v_models := ARRAY(SELECT DISTINCT model FROM permits WHERE permit_id = ANY (p_ids));
    IF v_models = '{}' THEN
        RETURN 0;
    END IF;
    v_now := permit_lock(v_models, ARRAY(SELECT unnest(bucket_ids) FROM permits WHERE permit_id = ANY (p_ids)));
    v_count := permit_end(p_ids, 'released', v_now);
    IF EXISTS (SELECT 1 FROM permit_waiters) THEN
        PERFORM permit_serve(v_models, p_holder, v_now);
    END IF;
    RETURN v_count;
END $$;
