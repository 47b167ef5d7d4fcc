-- worker_acquire(pool, holder, timeout_ms): a worker for one call. Never waits in the database.
--   p_holder      the calling process, as worker_heartbeat knows it
--   p_timeout_ms  how long the caller would wait; the pool's acquire_timeout_sec overrides it; NULL: 5 s
-- Returns jsonb with outcome
--   GRANTED   worker_id, token, url, call_path, cold, waited_ms: call it, then worker_release or worker_evict
--   WAITING   ticket, poll_ms, timeout_ms, position: ask worker_poll after poll_ms at the latest, or when the channel
--             cam_holder_<holder without dashes> is notified; worker_leave gives the place up
--   REFUSED   error_code (UNKNOWN_POOL, POOL_DISABLED, POOL_FAILING, NO_MANAGER, QUEUE_FULL, POOL_TIMEOUT), reason,
--             retry_after
-- The most recently used idle worker is taken. Who comes while others wait is behind them. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_acquire(p_pool text, p_holder uuid, p_timeout_ms integer DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
    v_worker record;
    v_counts record;
    v_refusal jsonb;
    v_timeout numeric;
    v_ticket uuid;
BEGIN
    v_pool := pool_lock(p_pool);
    v_now := clock_timestamp();
    IF v_pool.name IS NULL THEN
        RETURN jsonb_build_object('outcome', 'REFUSED', 'error_code', 'UNKNOWN_POOL',
            'reason', format('there is no pool %s', p_pool));
    END IF;
    PERFORM holder_seen(p_holder, v_now);
    v_counts := pool_counts(p_pool, v_now);
    v_refusal := pool_refusal(v_pool, v_counts.o_live, v_now);
    IF v_refusal IS NOT NULL THEN
        RETURN v_refusal || '{"outcome": "REFUSED"}';
    END IF;

    IF v_counts.o_waiting = 0 AND v_counts.o_idle > 0 THEN
        SELECT worker_id, token INTO v_worker FROM workers WHERE pool = p_pool AND state = 'idle'
        ORDER BY idle_since DESC LIMIT 1;
        IF worker_change(v_worker.worker_id, 'idle', v_worker.token, 'in_use', v_now, p_holder => p_holder) IS NOT NULL THEN
            UPDATE workers SET picked_up = true WHERE worker_id = v_worker.worker_id;
            IF v_pool.min_idle > 0 THEN
                PERFORM pool_plan(v_pool, v_now);
            END IF;
            RETURN worker_grant(v_worker.worker_id, v_pool, '0');
        END IF;
    END IF;

    v_timeout := coalesce(v_pool.acquire_timeout_sec, p_timeout_ms / 1000.0, 5);
    IF v_counts.o_waiting >= v_pool.max_waiters OR v_timeout <= 0 THEN
        RETURN jsonb_build_object('outcome', 'REFUSED', 'error_code',
            CASE WHEN v_timeout <= 0 THEN 'POOL_TIMEOUT' ELSE 'QUEUE_FULL' END,
            'reason', format('%s of %s workers are in use and %s callers wait', v_counts.o_in_use, v_pool.max_capacity,
                v_counts.o_waiting), 'retry_after', greatest(1, ceil(v_timeout)));
    END IF;
    INSERT INTO worker_waiters (pool, holder_id, requested_at, deadline_at)
    VALUES (p_pool, p_holder, v_now, v_now + make_interval(secs => v_timeout::float8)) RETURNING ticket INTO v_ticket;
    PERFORM pool_plan(v_pool, v_now);
    RETURN jsonb_build_object('outcome', 'WAITING', 'ticket', v_ticket, 'position', v_counts.o_waiting + 1,
        'poll_ms', least(v_timeout * 1000, 1000)::integer, 'timeout_ms', (v_timeout * 1000)::integer,
        'start_ms', round(v_pool.start_ms::numeric));
END $$;
