-- worker_gone(manager, worker, reason): the process or container has ended, asked or not. The reason says how, and holds
-- the end of its log. Returns jsonb: outcome OK, UNKNOWN_WORKER (no row, or gone before), NOT_MANAGER. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_gone(p_manager uuid, p_worker uuid, p_reason text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM managers WHERE manager_id = p_manager) THEN
        RETURN '{"outcome": "NOT_MANAGER"}';
    END IF;
    v_pool := pool_lock((SELECT pool FROM workers WHERE worker_id = p_worker));
    v_now := clock_timestamp();
    IF v_pool.name IS NULL OR NOT worker_ended(p_worker, v_pool, v_now, p_reason) THEN
        RETURN '{"outcome": "UNKNOWN_WORKER"}';
    END IF;
    RETURN '{"outcome": "OK"}';
END $$;
