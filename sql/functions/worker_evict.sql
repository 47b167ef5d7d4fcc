-- worker_evict(holder, worker, token, reason): the call failed, timed out or was broken off: the worker is not to be used
-- again. Its slot is free at once; the manager stops it. Returns jsonb: outcome OK or FENCED. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_evict(p_holder uuid, p_worker uuid, p_token bigint, p_reason text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
BEGIN
    v_pool := pool_lock((SELECT pool FROM workers WHERE worker_id = p_worker AND holder_id = p_holder));
    v_now := clock_timestamp();
    IF v_pool.name IS NULL OR NOT worker_retire(p_worker, p_token, v_pool, v_now, 'evicted: ' || left(p_reason, 1000)) THEN
        RETURN '{"outcome": "FENCED"}';
    END IF;
    RETURN '{"outcome": "OK"}';
END $$;
