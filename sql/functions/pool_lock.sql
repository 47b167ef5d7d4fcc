-- pool_lock(pool): take the pool's lock and only then read its row; the caller then reads the clock. Internal. Every
-- change of which workers and waiters a pool has is made under it; who needs several takes them in ascending lock_id.
-- Returns the row; all NULL: there is no such pool.
CREATE OR REPLACE FUNCTION camserver.pool_lock(p_pool text) RETURNS camserver.pools
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_lock integer;
    v_pool pools;
BEGIN
    SELECT lock_id INTO v_lock FROM pools WHERE name = p_pool;
    IF FOUND THEN
        PERFORM pg_advisory_xact_lock(lock_class('pool'), v_lock);
        SELECT * INTO v_pool FROM pools WHERE name = p_pool;
    END IF;
    RETURN v_pool;
END $$;
