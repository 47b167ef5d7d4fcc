-- worker_ready(manager, worker, token, address, port, start_ms): the worker answers its health probe and can be called at
-- that address. The longest waiting caller gets it. Its start time goes into the pool's average.
-- Returns jsonb: outcome OK, or FENCED: it is not wanted any more; stop it. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_ready(p_manager uuid, p_worker uuid, p_token bigint, p_address text,
    p_port integer, p_start_ms double precision) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
BEGIN
    v_pool := pool_lock((SELECT w.pool FROM workers w JOIN managers m ON m.host = w.host
        WHERE w.worker_id = p_worker AND m.manager_id = p_manager));
    v_now := clock_timestamp();
    UPDATE workers SET address = p_address, port = p_port, start_ms = p_start_ms, ready_at = v_now
    WHERE worker_id = p_worker AND state = 'starting' AND token = p_token;
    IF v_pool.name IS NULL OR worker_change(p_worker, 'starting', p_token, 'idle', v_now) IS NULL THEN
        RETURN '{"outcome": "FENCED"}';
    END IF;
    UPDATE pools SET starts_ok = starts_ok + 1, fail_streak = 0, retry_at = NULL,
        start_ms = coalesce(start_ms * 0.7 + p_start_ms * 0.3, p_start_ms)
    WHERE name = v_pool.name RETURNING * INTO v_pool;
    PERFORM worker_offer(p_worker, p_token, v_pool.name, v_now);
    PERFORM pool_plan(v_pool, v_now);
    RETURN '{"outcome": "OK"}';
END $$;
