-- system_status(user): the state of admission as GET /api/system/status answers it: the seed's fields summed
-- over the stream servers (the worst host's load), then each server by itself, and the queue of analyses as
-- queue_load has it. Notes that the user is looking.
-- A host whose sample is stale is not healthy; a stream server that no host is known of says nothing.
CREATE OR REPLACE FUNCTION camserver.system_status(p_user text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_stale interval := make_interval(secs => setting_number('health_stale_sec')::float8);
    v_answer jsonb;
BEGIN
    PERFORM session_touch(p_user);
    -- The formulas of suggest_usage and stream_budget, for all servers at once: status is polled by every viewer.
    WITH suggested AS (
        SELECT c.stream_server_id, g.active_ui_users FROM suggest_state g JOIN cameras c USING (camera_id)
        WHERE g.singleton AND g.expires_at > v_now
    ), servers AS (
        SELECT s.stream_server_id, s.host, s.total_units, s.baseline_units,
            greatest(s.max_ui_users, coalesce(g.active_ui_users, 0)) * s.sub_cost AS suggest_units,
            u.active_modals, u.units_used,
            greatest(0, s.total_units - s.baseline_units
                - greatest(s.max_ui_users, coalesce(g.active_ui_users, 0)) * s.sub_cost) AS budget,
            h.cpu_percent, h.memory_percent, h.swap_mb, h.reason,
            CASE WHEN s.host IS NULL THEN 'unknown' WHEN h.sampled_at > v_now - v_stale THEN h.level ELSE 'stale' END AS level
        FROM stream_servers s JOIN stream_usage u USING (stream_server_id)
        LEFT JOIN suggested g USING (stream_server_id)
        LEFT JOIN system_health h ON h.host = s.host
    )
    SELECT jsonb_build_object(
        'healthy', coalesce(bool_and(level IN ('normal', 'warning')) FILTER (WHERE level <> 'unknown'), false),
        'cpu_percent', max(cpu_percent)::float8,
        'memory_percent', max(memory_percent)::float8,
        'active_modals', coalesce(sum(active_modals), 0),
        'modal_budget_remaining', coalesce(sum(greatest(0, budget - units_used)), 0),
        'suggest_active', (SELECT expires_at > v_now AND camera_id IS NOT NULL FROM suggest_state WHERE singleton),
        'swap_mb', max(swap_mb)::float8,
        'level', CASE WHEN bool_or(level = 'overload') THEN 'overload' WHEN bool_or(level = 'stale') THEN 'stale'
            WHEN bool_or(level = 'warning') THEN 'warning' WHEN bool_or(level = 'normal') THEN 'normal' ELSE 'unknown' END,
        'modal_budget', coalesce(sum(budget), 0),
        'modal_usage', coalesce(sum(units_used), 0),
        'active_ui_users', (SELECT active_ui_users FROM suggest_state WHERE singleton),
        'servers', coalesce(jsonb_agg(jsonb_build_object(
            'stream_server_id', stream_server_id, 'host', host, 'level', level, 'reason', reason,
            'cpu_percent', cpu_percent::float8, 'memory_percent', memory_percent::float8, 'swap_mb', swap_mb::float8,
            'active_modals', active_modals, 'modal_usage', units_used, 'modal_budget', budget,
            'total_units', total_units, 'baseline_units', baseline_units,
            'suggest_units', suggest_units) ORDER BY stream_server_id), '[]'),
        'queue', queue_load(),
        'time', rfc3339(v_now))
    INTO v_answer FROM servers;
    RETURN v_answer;
END $$;
