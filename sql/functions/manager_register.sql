-- manager_register(manager, host, pid, version): a manager process starts on this host; whatever was the host's manager
-- before is not any more. Starts that it left half done are over: what runs of them is an orphan.
-- Returns void. Locks: the pools of those starts, ascending.
CREATE OR REPLACE FUNCTION camserver.manager_register(p_manager uuid, p_host text, p_pid integer, p_version text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz := clock_timestamp();
    v_worker record;
    v_new boolean;
BEGIN
    v_new := NOT EXISTS (SELECT 1 FROM managers WHERE manager_id = p_manager);
    INSERT INTO managers (host, manager_id, pid, version, started_at, last_heartbeat)
    VALUES (p_host, p_manager, p_pid, p_version, v_now, v_now)
    ON CONFLICT (host) DO UPDATE SET manager_id = excluded.manager_id, pid = excluded.pid, version = excluded.version,
        started_at = excluded.started_at, last_heartbeat = excluded.last_heartbeat, stopped_at = NULL;
    FOR v_worker IN SELECT w.worker_id, w.token, w.pool FROM workers w JOIN pools p ON p.name = w.pool
        WHERE w.host = p_host AND w.state = 'starting' AND v_new ORDER BY p.lock_id
    LOOP
        v_pool := pool_lock(v_worker.pool);
        v_now := clock_timestamp();
        -- No failed start: the pool is not to blame.
        PERFORM worker_change(v_worker.worker_id, 'starting', v_worker.token, 'gone', v_now,
            'its manager was restarted during its start');
        PERFORM pool_plan(v_pool, v_now);
    END LOOP;
END $$;
