-- manager_sync(manager, running, may_start, blind): the rows and what really runs, put side by side. The manager heartbeats with
-- the ids of all that it runs, or is starting or stopping, on its host; it has one such call under way at a time, so that
-- the list holds everything that earlier answers gave it. p_blind names drivers that cannot be looked at now: their
-- workers are left as they are.
-- Returns jsonb: outcome OK or NOT_MANAGER (register again), and
--   orphans  ids that run and should not: no row names them. To be killed.
--   stop     [{worker_id, grace_ms}] that are to be stopped
--   start    [{worker_id, token, ...}] that are to be started; taken on by this call. Empty unless may_start.
-- Rows of this host that nothing runs for are gone. Locks: the pools of those, ascending; then rows of starts, SKIP LOCKED.
CREATE OR REPLACE FUNCTION camserver.manager_sync(p_manager uuid, p_running uuid[], p_may_start boolean,
    p_blind text[] DEFAULT '{}') RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_host text;
    v_now timestamptz := clock_timestamp();
    v_pool pools;
    v_worker record;
    v_start jsonb := '[]';
    v_token bigint;
    v_room integer;
BEGIN
    UPDATE managers SET last_heartbeat = v_now, stopped_at = NULL WHERE manager_id = p_manager RETURNING host INTO v_host;
    IF NOT FOUND THEN
        RETURN '{"outcome": "NOT_MANAGER"}';
    END IF;
    FOR v_worker IN SELECT w.worker_id, w.pool, w.state FROM workers w JOIN pools p ON p.name = w.pool
        WHERE w.host = v_host AND w.state <> 'gone' AND w.worker_id <> ALL (p_running)
          AND coalesce(w.driver, '') <> ALL (p_blind) ORDER BY p.lock_id
    LOOP
        v_pool := pool_lock(v_worker.pool);
        v_now := clock_timestamp();
        PERFORM worker_ended(v_worker.worker_id, v_pool, v_now, 'it did not run any more when its manager looked');
    END LOOP;

    IF p_may_start THEN
        v_room := setting_number('pool_max_starting')
            - (SELECT count(*) FROM workers WHERE host = v_host AND state = 'starting');
        FOR v_worker IN SELECT w.worker_id, w.token, p.* FROM workers w JOIN pools p ON p.name = w.pool
            WHERE w.state = 'wanted' AND (p.host IS NULL OR p.host = v_host)
            ORDER BY w.requested_at, w.worker_id LIMIT greatest(v_room, 0) FOR UPDATE OF w SKIP LOCKED
        LOOP
            v_token := worker_change(v_worker.worker_id, 'wanted', v_worker.token, 'starting', clock_timestamp());
            UPDATE workers SET host = v_host, driver = v_worker.driver WHERE worker_id = v_worker.worker_id AND token = v_token;
            v_start := v_start || jsonb_build_object('worker_id', v_worker.worker_id, 'token', v_token,
                'pool', v_worker.name, 'driver', v_worker.driver, 'command', to_jsonb(v_worker.command),
                'image', v_worker.image, 'environment', v_worker.environment, 'health_path', v_worker.health_path,
                'container_port', v_worker.container_port, 'memory_mb', v_worker.memory_mb,
                'open_files', v_worker.open_files, 'start_timeout_ms', (v_worker.start_timeout_sec * 1000)::integer,
                'stop_grace_ms', (v_worker.stop_grace_sec * 1000)::integer);
        END LOOP;
    END IF;

    RETURN jsonb_build_object('outcome', 'OK', 'start', v_start,
        'orphans', (SELECT coalesce(jsonb_agg(r), '[]') FROM unnest(p_running) r WHERE NOT EXISTS (
            SELECT 1 FROM workers w WHERE w.worker_id = r AND w.state <> 'gone' AND w.host = v_host)),
        'stop', (SELECT coalesce(jsonb_agg(jsonb_build_object('worker_id', w.worker_id,
                'grace_ms', (p.stop_grace_sec * 1000)::integer)), '[]')
            FROM workers w JOIN pools p ON p.name = w.pool WHERE w.host = v_host AND w.state = 'stopping'));
END $$;
