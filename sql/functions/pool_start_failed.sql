-- pool_start_failed(pool, reason, at): count a failed start: the pool pauses, longer with each in a row, and those who
-- wait hear of it. Internal; the pool's lock is held. Returns the pool's row as it is now.
CREATE OR REPLACE FUNCTION camserver.pool_start_failed(p_pool camserver.pools, p_reason text, p_at timestamptz)
RETURNS camserver.pools
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_holder uuid;
BEGIN
    UPDATE pools SET starts_failed = starts_failed + 1, fail_streak = fail_streak + 1, last_error = left(p_reason, 4000),
        last_error_at = p_at, retry_at = p_at + make_interval(secs => least(setting_number('pool_backoff_max_ms'),
            setting_number('pool_backoff_base_ms') * power(2, least(fail_streak, 20)))::float8 / 1000)
    WHERE name = p_pool.name RETURNING * INTO v_pool;
    FOR v_holder IN SELECT DISTINCT holder_id FROM worker_waiters WHERE pool = p_pool.name LOOP
        PERFORM pool_notify(v_holder);
    END LOOP;
    RETURN v_pool;
END $$;
