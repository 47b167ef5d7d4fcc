-- pool_refusal(pool, counts, at): why a caller of this pool has to be turned away now instead of waiting; NULL: he may
-- wait. Internal. Returns jsonb: error_code, reason, retry_after.
CREATE OR REPLACE FUNCTION camserver.pool_refusal(p_pool camserver.pools, p_live integer, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_silent timestamptz := p_at - make_interval(secs => setting_number('manager_stale_sec')::float8);
BEGIN
    IF p_pool.draining OR p_pool.max_capacity = 0 THEN
        RETURN jsonb_build_object('error_code', 'POOL_DISABLED', 'retry_after', 30, 'reason', CASE WHEN p_pool.draining
            THEN 'the pool is draining' ELSE 'its capacity is 0' END);
    ELSIF p_live > 0 THEN
        RETURN NULL;
    ELSIF p_pool.fail_streak >= setting_number('pool_start_tries') AND p_pool.retry_at > p_at THEN
        RETURN jsonb_build_object('error_code', 'POOL_FAILING', 'reason', format('its last %s starts failed: %s',
                p_pool.fail_streak, p_pool.last_error),
            'retry_after', ceil(extract(epoch FROM p_pool.retry_at - p_at)));
    ELSIF NOT EXISTS (SELECT 1 FROM managers WHERE stopped_at IS NULL AND last_heartbeat >= v_silent
        AND (p_pool.host IS NULL OR host = p_pool.host)) THEN
        RETURN jsonb_build_object('error_code', 'NO_MANAGER', 'retry_after', 10,
            'reason', format('no cam-manager is alive%s', coalesce(' on host ' || p_pool.host, '')));
    END IF;
    RETURN NULL;
END $$;
