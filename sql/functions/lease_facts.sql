-- lease_facts(user, camera): all that decides an admission, read in one query. Internal; lease_acquire reads
-- it once without a lock, where it may refuse, and once under the lock, where it may grant.
-- Returns no row for a camera that does not exist.
CREATE OR REPLACE FUNCTION camserver.lease_facts(
    p_user text, p_camera text, p_at timestamptz,
    OUT server camserver.stream_servers, OUT enabled boolean, OUT stream_url text,
    OUT budget integer, OUT units_used integer, OUT next_dead_at timestamptz,
    OUT overloaded boolean, OUT overload_left_sec numeric,
    OUT own camserver.modal_leases, OUT own_alive boolean)
RETURNS SETOF record
LANGUAGE plpgsql STABLE ROWS 1 SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT s, c.enabled, coalesce(c.stream_url, replace(s.stream_url_template, '{camera_id}', c.camera_id)),
        stream_budget(s, p_at), u.units_used, u.next_dead_at,
        coalesce(h.overloaded AND h.sampled_at > p_at - make_interval(secs => setting_number('health_stale_sec')::float8),
            false),
        CASE WHEN h.overloaded THEN
            setting_number('recover_hold_sec') - extract(epoch FROM p_at - h.last_overload_at) END,
        l, coalesce(l.expires_at > p_at AND l.last_heartbeat >= p_at - make_interval(secs => l.grace_sec), false)
    FROM cameras c
    JOIN stream_servers s USING (stream_server_id)
    JOIN stream_usage u USING (stream_server_id)
    LEFT JOIN system_health h ON h.host = s.host
    LEFT JOIN modal_leases l ON l.user_id = p_user
    WHERE c.camera_id = p_camera;
END $$;
