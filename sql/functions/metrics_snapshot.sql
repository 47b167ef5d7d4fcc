-- metrics_snapshot(): everything that /metrics tells of the database's state, in one call. One row per sample: the
-- metric's name, up to two labels, the value. Names, types and help are in src/common/metrics_text.c. Jobs are counted to
-- 100,000 of a kind and state at most, so that a scrape stays cheap whatever the queue.
CREATE OR REPLACE FUNCTION camserver.metrics_snapshot()
RETURNS TABLE (name text, label text, label_value text, label2 text, label2_value text, value double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_count_max CONSTANT integer := 100000;
    v_now timestamptz := clock_timestamp();
    v_health_stale interval := make_interval(secs => setting_number('health_stale_sec')::float8);
    v_dispatcher_stale interval := make_interval(secs => setting_number('dispatcher_stale_sec')::float8);
    v_manager_stale interval := make_interval(secs => setting_number('manager_stale_sec')::float8);
    v_load jsonb := queue_load();
    v_suggest suggest_state%ROWTYPE;
BEGIN
    SELECT * INTO v_suggest FROM suggest_state;
    RETURN QUERY
    SELECT m.name, m.label, s.stream_server_id, NULL::text, NULL::text, m.value::float8
    FROM stream_servers s JOIN stream_usage u USING (stream_server_id)
    CROSS JOIN LATERAL (VALUES
        ('camserver_stream_units', 'server', s.total_units),
        ('camserver_stream_units_budget', 'server', stream_budget(s, v_now)),
        ('camserver_stream_units_used', 'server', u.units_used),
        ('camserver_leases_active', 'server', u.active_modals)) AS m (name, label, value);

    RETURN QUERY
    SELECT m.name, 'host', h.host, NULL::text, NULL::text, m.value::float8 FROM system_health h
    CROSS JOIN LATERAL (VALUES
        ('camserver_host_level', CASE WHEN h.sampled_at <= v_now - v_health_stale THEN 3
            ELSE CASE h.level WHEN 'normal' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END END),
        ('camserver_host_cpu_ratio', h.cpu_percent / 100),
        ('camserver_host_memory_ratio', h.memory_percent / 100),
        ('camserver_host_swap_bytes', h.swap_mb * 1048576),
        ('camserver_host_sample_age_seconds', extract(epoch FROM v_now - h.sampled_at))) AS m (name, value);

    RETURN QUERY
    SELECT m.name, m.label, m.label_value, NULL::text, NULL::text, m.value::float8 FROM (VALUES
        ('camserver_schema_version', NULL, NULL, schema_version()),
        ('camserver_ui_users', NULL, NULL, v_suggest.active_ui_users),
        ('camserver_suggest_active', NULL, NULL, (v_suggest.expires_at > v_now AND v_suggest.camera_id IS NOT NULL)::integer),
        ('camserver_queue_size', 'queue', 'ingest', (v_load->>'queued')::numeric),
        ('camserver_queue_limit', 'queue', 'ingest', (v_load->>'max')::numeric),
        ('camserver_backpressure_threshold_ratio', 'stage', 'warning', (v_load->>'warning_percent')::numeric / 100),
        ('camserver_backpressure_threshold_ratio', 'stage', 'overloaded', (v_load->>'overload_percent')::numeric / 100),
        ('camserver_dispatchers', NULL, NULL, (SELECT count(*) FROM dispatchers d
            WHERE d.stopped_at IS NULL AND d.last_heartbeat > v_now - v_dispatcher_stale)),
        ('camserver_managers', NULL, NULL, (SELECT count(*) FROM managers g
            WHERE g.stopped_at IS NULL AND g.last_heartbeat > v_now - v_manager_stale)),
        ('camserver_events_open', NULL, NULL, (SELECT count(*) FROM events e WHERE e.state = 'open')),
        ('camserver_permits_held', NULL, NULL, (SELECT count(*) FROM permits)),
        ('camserver_permit_oldest_wait_seconds', NULL, NULL,
            (SELECT coalesce(extract(epoch FROM v_now - min(w.asked_at)), 0) FROM permit_waiters w))
    ) AS m (name, label, label_value, value);

    -- One arm a state: each then is read from that state's own index. Every kind and state shows, also at 0.
    RETURN QUERY
    WITH counted AS MATERIALIZED (
        SELECT j.kind, j.status, count(*) AS jobs, min(j.since) AS oldest FROM (
            (SELECT kind, status, created_at AS since FROM inference_jobs WHERE status = 'queued' LIMIT c_count_max)
            UNION ALL (SELECT kind, status, created_at FROM inference_jobs WHERE status = 'waiting' LIMIT c_count_max)
            UNION ALL (SELECT kind, status, locked_at FROM inference_jobs WHERE status = 'running' LIMIT c_count_max)
            UNION ALL (SELECT kind, status, finished_at FROM inference_jobs WHERE status = 'dead' LIMIT c_count_max)) j
        GROUP BY j.kind, j.status
    ), shown AS (
        SELECT k.kind, s.status, coalesce(c.jobs, 0) AS jobs, coalesce(extract(epoch FROM v_now - c.oldest), 0) AS age
        FROM unnest(enum_range(NULL::job_kind)) AS k (kind)
        CROSS JOIN (VALUES ('queued'::job_status), ('waiting'), ('running'), ('dead')) AS s (status)
        LEFT JOIN counted c ON c.kind = k.kind AND c.status = s.status
    )
    SELECT 'camserver_jobs', 'kind', kind::text, 'state', status::text, jobs::float8 FROM shown
    UNION ALL
    SELECT 'camserver_job_oldest_age_seconds', 'kind', kind::text, 'state', status::text, greatest(0, age)::float8 FROM shown;

    RETURN QUERY
    SELECT m.name, 'model', b.name, NULL::text, NULL::text, m.value::float8
    FROM (SELECT x.name, (r).running, (r).waiting, (r).tokens, (r).requests
          FROM (SELECT x.name, bucket_refilled(x, v_now) AS r FROM buckets x WHERE x.level = 'model' OFFSET 0) x) b
    CROSS JOIN LATERAL (VALUES
        ('camserver_model_running', b.running),
        ('camserver_model_waiting', b.waiting),
        ('camserver_model_tokens', b.tokens),
        ('camserver_model_tokens_limit', b.requests)) AS m (name, value);

    RETURN QUERY
    SELECT m.name, 'pool', p.name, m.label, m.label_value, m.value::float8 FROM pools p
    CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE w.state = 'idle') AS idle,
            count(*) FILTER (WHERE w.state = 'in_use') AS in_use,
            count(*) FILTER (WHERE w.state IN ('wanted', 'starting')) AS starting,
            count(*) FILTER (WHERE w.state = 'stopping') AS stopping
        FROM workers w WHERE w.pool = p.name AND w.state <> 'gone') c
    CROSS JOIN LATERAL (VALUES
        ('camserver_pool_workers', 'state', 'idle', c.idle),
        ('camserver_pool_workers', 'state', 'in_use', c.in_use),
        ('camserver_pool_workers', 'state', 'starting', c.starting),
        ('camserver_pool_workers', 'state', 'stopping', c.stopping),
        ('camserver_pool_capacity', NULL, NULL, p.max_capacity),
        ('camserver_pool_waiting', NULL, NULL,
            (SELECT count(*) FROM worker_waiters q WHERE q.pool = p.name AND q.worker_id IS NULL)),
        ('camserver_pool_starts_total', 'outcome', 'ok', p.starts_ok),
        ('camserver_pool_starts_total', 'outcome', 'failed', p.starts_failed),
        ('camserver_pool_cold_starts_total', NULL, NULL, p.cold_starts),
        ('camserver_pool_evictions_total', NULL, NULL, p.evictions),
        ('camserver_pool_failed_starts_streak', NULL, NULL, p.fail_streak)) AS m (name, label, label_value, value);

    RETURN QUERY
    SELECT m.name, 'node', n.name, NULL::text, NULL::text, m.value::float8 FROM node_list n
    CROSS JOIN LATERAL (VALUES
        ('camserver_node_state', CASE n.state WHEN 'up' THEN 0 WHEN 'unknown' THEN 1 WHEN 'draining' THEN 2 ELSE 3 END),
        ('camserver_node_inflight', n.inflight),
        ('camserver_node_inflight_limit', n.max_inflight),
        ('camserver_node_latency_seconds', coalesce(n.latency_ms, 0) / 1000)) AS m (name, value);

    RETURN QUERY
    SELECT m.name, 'sweep', s.name, NULL::text, NULL::text, m.value::float8 FROM sweeps s
    CROSS JOIN LATERAL (VALUES
        ('camserver_sweep_late_seconds', greatest(0, extract(epoch FROM v_now - greatest(s.next_run_at, s.last_run_at)))),
        ('camserver_sweep_failing', (s.last_error IS NOT NULL)::integer)) AS m (name, value)
    WHERE s.last_run_at IS NOT NULL;

    RETURN QUERY
    SELECT 'camserver_notifications', 'state', s.state, NULL::text, NULL::text, coalesce(c.n, 0)::float8
    FROM unnest(ARRAY['pending', 'sending', 'sent', 'suppressed', 'summarised', 'dead']) AS s (state)
    LEFT JOIN (
        SELECT n.state, count(*) AS n FROM notifications n WHERE n.state IN ('pending', 'sending') GROUP BY n.state
        UNION ALL
        SELECT n.state, count(*) FROM notifications n
        WHERE n.state NOT IN ('pending', 'sending') AND n.updated_at > v_now - interval '1 hour' GROUP BY n.state) c USING (state);

    RETURN QUERY
    SELECT 'camserver_llm_reviews', 'outcome', o.outcome, NULL::text, NULL::text, count(r.review_id)::float8
    FROM unnest(ARRAY['pending', 'ok', 'refused', 'nonsense', 'error']) AS o (outcome)
    LEFT JOIN llm_reviews r ON r.outcome = o.outcome AND r.asked_at > v_now - interval '1 day'
    GROUP BY o.outcome;

    RETURN QUERY
    SELECT 'camserver_camera_frame_age_seconds', 'camera', c.camera_id, NULL::text, NULL::text,
        extract(epoch FROM v_now - f.captured_at)::float8
    FROM cameras c CROSS JOIN LATERAL (
        SELECT f.captured_at FROM frames f WHERE f.camera_id = c.camera_id ORDER BY f.captured_at DESC LIMIT 1) f
    WHERE c.enabled;
END $$;
