-- console_operations(user, role): all that the page Operations shows, as GET /api/console/operations answers it.
-- Returns jsonb: outcome OK with who, status (as system_status() gives it, without the time), servers with their budget
-- parameters, thresholds of the valve, queue by kind and state (each counted up to 10000), the newest 50 dead jobs,
-- dispatchers, nodes, pools, limits, refusals by reason, the last hour's history and the newest 20 rows of the audit.
-- Locks: the viewer's session, at most every 15 s.
CREATE OR REPLACE FUNCTION camserver.console_operations(p_user text, p_role camserver.caller_role) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_count CONSTANT integer := 10000;
    c_dead CONSTANT integer := 50;
    c_audit CONSTANT integer := 20;
    v_now timestamptz := clock_timestamp();
    v_answer jsonb;
BEGIN
    v_answer := jsonb_build_object('outcome', 'OK', 'who', console_who(p_user, p_role),
        'status', system_status(p_user) - 'time', 'pools', pool_list()->'pools', 'limits', limits_show() - 'outcome',
        'history', console_history(v_now),
        'servers', (SELECT jsonb_agg(to_jsonb(s) - '{lock_id,created_at}'::text[] ORDER BY s.stream_server_id) FROM stream_servers s),
        'thresholds', (SELECT jsonb_object_agg(t.name, t.value::numeric) FROM settings t
            WHERE t.name ~ '^(overload|warning)_(cpu_percent|memory_percent|swap_mb)$'));
    SELECT v_answer || jsonb_build_object('queue', coalesce(jsonb_agg(jsonb_build_object('kind', q.kind, 'status', q.status,
        'jobs', q.jobs, 'oldest_age_sec', round(extract(epoch FROM v_now - q.oldest))) ORDER BY q.kind, q.status), '[]'))
    INTO v_answer FROM (
        SELECT j.kind, j.status, count(*) AS jobs, min(j.created_at) AS oldest FROM (
            (SELECT kind, status, created_at FROM inference_jobs WHERE status = 'queued' ORDER BY kind, priority DESC, job_id LIMIT c_count)
            UNION ALL
            (SELECT kind, status, created_at FROM inference_jobs WHERE status = 'waiting' ORDER BY available_at LIMIT c_count)
            UNION ALL
            (SELECT kind, status, created_at FROM inference_jobs WHERE status = 'running' ORDER BY locked_token LIMIT c_count)
            UNION ALL
            (SELECT kind, status, finished_at FROM inference_jobs WHERE status = 'dead' ORDER BY finished_at LIMIT c_count)
        ) j GROUP BY j.kind, j.status) q;
    SELECT v_answer || jsonb_build_object('dead_jobs', coalesce(jsonb_agg(jsonb_build_object('job_id', d.job_id, 'kind', d.kind,
        'camera_id', d.camera_id, 'attempt', d.attempt, 'max_attempt', d.max_attempt, 'last_error', d.last_error,
        'finished_at', rfc3339(d.finished_at)) ORDER BY d.finished_at DESC, d.job_id DESC), '[]'))
    INTO v_answer FROM (SELECT * FROM inference_jobs WHERE status = 'dead' ORDER BY finished_at DESC LIMIT c_dead) d;
    SELECT v_answer || jsonb_build_object('dispatchers', coalesce(jsonb_agg(jsonb_build_object('host', d.host, 'pid', d.pid,
        'version', d.version, 'state', d.state, 'started_at', rfc3339(d.started_at)) ORDER BY d.started_at DESC), '[]'))
    INTO v_answer FROM (SELECT * FROM dispatcher_list WHERE state <> 'stopped' LIMIT 20) d;
    SELECT v_answer || jsonb_build_object('refusals', coalesce(jsonb_object_agg(r.reason, r.refused), '{}'))
    INTO v_answer FROM refusal_counts() r;
    SELECT v_answer || jsonb_build_object('audit', coalesce(jsonb_agg(jsonb_build_object('at', rfc3339(a.at), 'actor', a.actor,
        'action', a.action, 'subject', a.subject, 'before', a.before, 'after', a.after) ORDER BY a.audit_id DESC), '[]'))
    INTO v_answer FROM (SELECT * FROM audit ORDER BY audit_id DESC LIMIT c_audit) a;
    RETURN v_answer || jsonb_build_object('nodes', node_list()->'nodes');
END $$;
