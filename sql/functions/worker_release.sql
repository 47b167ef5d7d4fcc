-- worker_release(holder, worker, token): the call is over and the worker is well. It goes to the longest waiting caller
-- or becomes idle. Returns jsonb: outcome OK, or FENCED if it is not this holder's under this token any more.
-- Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_release(p_holder uuid, p_worker uuid, p_token bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
BEGIN
    v_pool := pool_lock((SELECT pool FROM workers WHERE worker_id = p_worker AND holder_id = p_holder));
    v_now := clock_timestamp();
    IF v_pool.name IS NULL OR NOT worker_return(p_worker, p_token, v_pool, v_now) THEN
        RETURN '{"outcome": "FENCED"}';
    END IF;
    RETURN '{"outcome": "OK"}';
END $$;
