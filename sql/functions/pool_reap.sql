-- pool_reap(): what time does to pools. Workers idle longer than the pool's idle_timeout_sec stop, except min_idle of them;
-- callers past their deadline who never asked again leave the queue; what a dead holder has is returned if it cannot have
-- been called, else retired; starts that no manager is alive for are over; starts whose pause is over are tried again.
-- Managers and dispatchers call it every second or two; each looks only at pools where something is due.
-- Returns jsonb: count, more. Locks: those pools, ascending.
CREATE OR REPLACE FUNCTION camserver.pool_reap() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 5000;
    v_now timestamptz := clock_timestamp();
    v_silent timestamptz := v_now - make_interval(secs => setting_number('manager_stale_sec')::float8);
    v_before timestamptz := v_now - make_interval(hours => setting_number('metrics_keep_hours')::integer);
    v_name text;
    v_pool pools;
    v_worker record;
    v_count integer := 0;
    v_pruned integer;
    v_idle integer;
BEGIN
    FOR v_name IN SELECT p.name FROM pools p WHERE p.min_idle > 0
            OR (p.fail_streak > 0 AND p.retry_at <= v_now)
            OR EXISTS (SELECT 1 FROM worker_waiters q WHERE q.pool = p.name)
            OR EXISTS (SELECT 1 FROM workers w LEFT JOIN pool_holders h ON h.holder_id = w.holder_id
                LEFT JOIN managers m ON m.host = w.host
                WHERE w.pool = p.name AND w.state <> 'gone' AND CASE w.state
                    WHEN 'idle' THEN p.draining OR w.idle_since <= v_now - make_interval(secs => p.idle_timeout_sec::float8)
                    WHEN 'in_use' THEN h.holder_id IS NULL OR h.last_heartbeat < v_now - make_interval(secs => 3 * h.interval_sec::float8)
                    WHEN 'starting' THEN m.host IS NULL OR m.last_heartbeat < v_silent
                    WHEN 'wanted' THEN true END)
        ORDER BY p.lock_id
    LOOP
        v_pool := pool_lock(v_name);
        v_now := clock_timestamp();
        CONTINUE WHEN v_pool.name IS NULL;
        v_silent := v_now - make_interval(secs => setting_number('manager_stale_sec')::float8);

        -- Callers who are gone, and with them grants that nobody heard of.
        FOR v_worker IN DELETE FROM worker_waiters q WHERE q.pool = v_name AND (q.deadline_at < v_now - interval '5 seconds'
            OR NOT EXISTS (SELECT 1 FROM pool_holders h WHERE h.holder_id = q.holder_id
                AND h.last_heartbeat >= v_now - make_interval(secs => 3 * h.interval_sec::float8)))
            RETURNING q.worker_id, q.token
        LOOP
            v_count := v_count + 1;
            IF v_worker.worker_id IS NOT NULL THEN
                PERFORM worker_return(v_worker.worker_id, v_worker.token, v_pool, v_now);
            END IF;
        END LOOP;

        FOR v_worker IN SELECT w.* FROM workers w LEFT JOIN pool_holders h ON h.holder_id = w.holder_id
            WHERE w.pool = v_name AND w.state = 'in_use' AND (h.holder_id IS NULL
                OR h.last_heartbeat < v_now - make_interval(secs => 3 * h.interval_sec::float8))
        LOOP
            v_count := v_count + 1;
            IF NOT v_worker.picked_up THEN
                PERFORM worker_return(v_worker.worker_id, v_worker.token, v_pool, v_now);
            ELSE
                PERFORM worker_retire(v_worker.worker_id, v_worker.token, v_pool, v_now,
                    'retired: its holder died, and its call may still run');
            END IF;
        END LOOP;

        FOR v_worker IN SELECT w.* FROM workers w LEFT JOIN managers m ON m.host = w.host
            WHERE w.pool = v_name AND w.state = 'starting' AND (m.host IS NULL OR m.last_heartbeat < v_silent)
        LOOP
            v_count := v_count + 1;
            PERFORM worker_change(v_worker.worker_id, 'starting', v_worker.token, 'gone', v_now,
                'its manager died during its start');
        END LOOP;

        v_idle := (SELECT count(*) FROM workers WHERE pool = v_name AND state = 'idle');
        FOR v_worker IN SELECT worker_id, token FROM workers WHERE pool = v_name AND state = 'idle'
            AND idle_since <= v_now - make_interval(secs => v_pool.idle_timeout_sec::float8)
            ORDER BY idle_since LIMIT greatest(v_idle - v_pool.min_idle, 0)
        LOOP
            v_count := v_count + 1;
            PERFORM worker_change(v_worker.worker_id, 'idle', v_worker.token, 'stopping', v_now,
                format('idle for %s s', trim_scale(v_pool.idle_timeout_sec)));
            PERFORM pool_notify();
        END LOOP;
        PERFORM pool_plan(v_pool, v_now);
    END LOOP;

    DELETE FROM workers WHERE worker_id IN (
        SELECT worker_id FROM workers WHERE state = 'gone' AND ended_at < v_before LIMIT c_batch);
    GET DIAGNOSTICS v_pruned = ROW_COUNT;
    DELETE FROM pool_holders h WHERE h.last_heartbeat < v_before
        AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.holder_id = h.holder_id);
    RETURN jsonb_build_object('count', v_count + v_pruned, 'more', v_pruned = c_batch);
END $$;
