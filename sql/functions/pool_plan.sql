-- pool_plan(pool, at): make what runs fit what is wanted. Starts one worker for every caller who waits and is not yet
-- served by a start under way, and for min_idle, within the capacity; takes back starts that nobody needs; stops what a
-- draining or smaller pool has too much. After failed starts it tries one at a time, and not before retry_at. Internal;
-- the pool's lock is held.
CREATE OR REPLACE FUNCTION camserver.pool_plan(p_pool camserver.pools, p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_capacity integer := CASE WHEN p_pool.draining THEN 0 ELSE p_pool.max_capacity END;
    v_counts record;
    v_need integer;
    v_worker record;
    v_wake boolean := false;
BEGIN
    v_counts := pool_counts(p_pool.name, p_at);

    -- Too many: first those that are not up yet, then the longest idle.
    FOR v_worker IN SELECT worker_id, state, token FROM workers
        WHERE pool = p_pool.name AND state IN ('wanted', 'starting', 'idle') AND v_counts.o_live > v_capacity
        ORDER BY state, idle_since LIMIT greatest(v_counts.o_live - v_capacity, 0)
    LOOP
        PERFORM worker_change(v_worker.worker_id, v_worker.state, v_worker.token,
            CASE v_worker.state WHEN 'wanted' THEN 'gone' ELSE 'stopping' END::worker_state, p_at,
            CASE WHEN p_pool.draining THEN 'the pool is draining' ELSE 'the capacity was lowered' END);
        v_wake := true;
    END LOOP;
    IF v_wake THEN
        v_counts := pool_counts(p_pool.name, p_at);
    END IF;

    v_need := v_counts.o_waiting + greatest(p_pool.min_idle - v_counts.o_idle, 0) - v_counts.o_pending;
    IF p_pool.fail_streak > 0 AND p_pool.retry_at > p_at THEN
        v_need := -v_counts.o_pending; -- the pause is for those that are not yet taken on, too
    END IF;
    IF v_need < 0 THEN
        -- Never started, so there is nothing to remember. A row that a manager takes on just now is locked.
        DELETE FROM workers WHERE worker_id IN (SELECT worker_id FROM workers WHERE pool = p_pool.name AND state = 'wanted'
            ORDER BY requested_at DESC LIMIT -v_need FOR UPDATE SKIP LOCKED);
    END IF;
    v_need := least(v_need, v_capacity - v_counts.o_live);
    IF p_pool.fail_streak > 0 THEN
        v_need := least(v_need, 1 - v_counts.o_pending);
    END IF;
    IF v_need > 0 THEN
        INSERT INTO workers (pool, requested_at) SELECT p_pool.name, p_at FROM generate_series(1, v_need);
        v_wake := true;
    END IF;
    IF v_wake THEN
        PERFORM pool_notify();
    END IF;
END $$;
