-- lease_facts(user, camera, at): all that decides an admission, read in one query. Internal; lease_acquire reads
-- it once without a lock, where it may refuse, and once under the lock, where it may grant.
-- Returns no row for a camera that does not exist. The budget is stream_budget's formula; overloaded_until is when the
-- sample that says overload is stale. (Inlined into the caller's statement: one plan, made once.)
CREATE OR REPLACE FUNCTION camserver.lease_facts(
    p_user text, p_camera text, p_at timestamptz,
    OUT server camserver.stream_servers, OUT enabled boolean, OUT stream_url text,
    OUT budget integer, OUT units_used integer, OUT next_dead_at timestamptz,
    OUT overloaded boolean, OUT overloaded_until timestamptz, OUT overload_left_sec numeric,
    OUT own camserver.modal_leases, OUT own_alive boolean)
RETURNS SETOF record
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT s, c.enabled, coalesce(c.stream_url, replace(s.stream_url_template, '{camera_id}', c.camera_id)),
        greatest(0, s.total_units - s.baseline_units - s.sub_cost * greatest(s.max_ui_users,
            CASE WHEN g.expires_at > p_at AND gc.stream_server_id = s.stream_server_id THEN g.active_ui_users ELSE 0 END)),
        u.units_used, u.next_dead_at,
        coalesce(h.overloaded AND h.sampled_at + stale.value::float8 * interval '1 s' > p_at, false),
        h.sampled_at + stale.value::float8 * interval '1 s',
        CASE WHEN h.overloaded THEN hold.value::numeric - extract(epoch FROM p_at - h.last_overload_at) END,
        l, coalesce(l.expires_at > p_at AND l.last_heartbeat >= p_at - l.grace_sec * interval '1 s', false)
    FROM camserver.cameras c
    JOIN camserver.stream_servers s ON s.stream_server_id = c.stream_server_id
    JOIN camserver.stream_usage u ON u.stream_server_id = c.stream_server_id
    JOIN camserver.settings stale ON stale.name = 'health_stale_sec'
    JOIN camserver.settings hold ON hold.name = 'recover_hold_sec'
    JOIN camserver.suggest_state g ON g.singleton
    LEFT JOIN camserver.cameras gc ON gc.camera_id = g.camera_id
    LEFT JOIN camserver.system_health h ON h.host = s.host
    LEFT JOIN camserver.modal_leases l ON l.user_id = p_user
    WHERE c.camera_id = p_camera
$$;
