-- worker_return(worker, token, pool, at): a worker in use is free again: to the longest waiting caller, to the idle ones,
-- or, where the pool is draining or has become smaller, to its end. Internal; the pool's lock is held.
-- Returns false if it is not in use with this token.
CREATE OR REPLACE FUNCTION camserver.worker_return(p_worker uuid, p_token bigint, p_pool camserver.pools, p_at timestamptz)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    IF worker_change(p_worker, 'in_use', p_token, 'idle', p_at) IS NULL THEN
        RETURN false;
    END IF;
    IF NOT p_pool.draining AND p_pool.max_capacity > 0
        AND (SELECT count(*) FROM workers WHERE pool = p_pool.name AND state NOT IN ('stopping', 'gone')) <= p_pool.max_capacity THEN
        PERFORM worker_offer(p_worker, p_token, p_pool.name, p_at);
    END IF;
    PERFORM pool_plan(p_pool, p_at);
    RETURN true;
END $$;
