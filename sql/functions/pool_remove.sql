-- pool_remove(name): forget a pool. One that still has workers drains first: it is refused to callers from now on.
-- Returns jsonb: outcome OK, DRAINING with workers (call again when they are gone), POOL_IN_USE with
-- the models that name it (it is left as it is), UNKNOWN_POOL. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.pool_remove(p_name text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
    v_left integer;
    v_models text[];
BEGIN
    v_pool := pool_lock(p_name);
    v_now := clock_timestamp();
    IF v_pool.name IS NULL THEN
        RETURN '{"outcome": "UNKNOWN_POOL"}';
    END IF;
    v_models := ARRAY(SELECT model FROM models WHERE pool = p_name ORDER BY model);
    IF v_models <> '{}' THEN
        RETURN jsonb_build_object('outcome', 'POOL_IN_USE', 'models', to_jsonb(v_models));
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
