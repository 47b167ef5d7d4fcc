-- prune(): forget what is older than its keeping time. Nobody is kept waiting for the commit to reach the disk: what a crash
-- brings back goes again. Returns jsonb: count of rows, more, as expire_run() has them.
CREATE OR REPLACE FUNCTION camserver.prune() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_metrics timestamptz := v_now - make_interval(hours => setting_number('metrics_keep_hours')::integer);
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN expire_run(ARRAY(SELECT expire_rows(s.t, format(s.condition, s.before)) FROM (VALUES
        ('admission_metrics'::regclass, v_metrics, 'recorded_at < %L'),
        ('modal_lease_log', v_metrics, 'ended_at < %L'),
        ('minute_history', v_metrics, 'minute < %L ORDER BY minute'),
        ('node_reports', v_metrics, 'reported_at < %L'),
        ('dispatchers', v_metrics, 'last_heartbeat < %L'),
        ('inference_jobs', v_now - make_interval(hours => setting_number('job_keep_hours')::integer),
            'status IN (''done'', ''cancelled'') AND finished_at < %L ORDER BY finished_at'),
        ('inference_jobs', v_now - make_interval(days => setting_number('keep_dead_days')::integer),
            'status = ''dead'' AND finished_at < %L ORDER BY finished_at'),
        ('notifications', v_now - make_interval(days => setting_number('notify_keep_days')::integer),
            'state NOT IN (''pending'', ''sending'') AND updated_at < %L ORDER BY updated_at'),
        ('audit', v_now - make_interval(days => setting_number('audit_keep_days')::integer), 'at < %L ORDER BY at')
        ) AS s (t, before, condition))) - 'ids';
END $$;
