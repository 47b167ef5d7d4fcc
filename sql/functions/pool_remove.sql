-- pool_remove(name): forget a pool. One that still has workers drains first: it is refused to callers from now on.
-- Returns jsonb: outcome OK, DRAINING with workers (call again when they are gone), UNKNOWN_POOL. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.pool_remove(p_name text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
    v_left integer;
BEGIN
    v_pool := pool_lock(p_name);
    v_now := clock_timestamp();
    IF v_pool.name IS NULL THEN
        RETURN '{"outcome": "UNKNOWN_POOL"}';
    END IF;
    UPDATE pools SET draining = true WHERE name = p_name RETURNING * INTO v_pool;
    PERFORM pool_plan(v_pool, v_now);
    SELECT count(*) INTO v_left FROM workers WHERE pool = p_name AND state <> 'gone';
    IF v_left > 0 THEN
        RETURN jsonb_build_object('outcome', 'DRAINING', 'workers', v_left);
    END IF;
    DELETE FROM pools WHERE name = p_name;
    RETURN '{"outcome": "OK"}';
END $$;
