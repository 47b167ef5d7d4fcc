-- Who may do what. Run at every migration, after functions and views: whatever is not named here is closed.
REVOKE ALL ON ALL TABLES IN SCHEMA camserver FROM PUBLIC, camserver_api, camserver_dispatcher, camserver_manager, camserver_ops;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA camserver FROM PUBLIC, camserver_api, camserver_dispatcher, camserver_manager, camserver_ops;
GRANT USAGE ON SCHEMA camserver TO camserver_api, camserver_dispatcher, camserver_manager, camserver_ops;

DO $$
DECLARE
    v_grant record;
    v_function record;
    v_found boolean;
BEGIN
    FOR v_grant IN SELECT r.role_name, unnest(r.functions) AS function_name FROM (VALUES
        ('camserver_api', ARRAY[
            'schema_version', 'caller_identify',
            'lease_acquire', 'lease_heartbeat', 'lease_release',
            'system_status', 'metrics_snapshot', 'suggest_get',
            'frame_ingest', 'camera_list', 'camera_latest', 'event_list', 'event_get',
            'case_attach', 'case_detach', 'media_find',
            'job_list', 'job_retry', 'job_cancel',
            'console_live', 'console_events', 'console_event', 'console_operations', 'server_put',
            'permit_exchange', 'limits_show', 'limits_set',
            'pool_list', 'pool_put', 'node_list', 'node_put', 'node_report',
            'worker_acquire', 'worker_poll', 'worker_leave', 'worker_release', 'worker_evict', 'worker_heartbeat']),
        ('camserver_dispatcher', ARRAY[
            'schema_version', 'dispatcher_register', 'dispatcher_heartbeat', 'dispatcher_stop',
            'health_report', 'counters_report', 'sweep_run', 'suggest_offer',
            'job_claim', 'job_fail', 'analysis_complete', 'schema_push_begin', 'schema_push_end',
            'spool_expire', 'spool_unknown', 'archive_expire', 'archive_removed',
            'followup_claim', 'followup_complete', 'node_configure', 'node_candidates', 'node_report',
            'permit_acquire', 'permit_release', 'permit_renew', 'permit_cancel', 'permit_poll',
            'worker_acquire', 'worker_poll', 'worker_leave', 'worker_release', 'worker_evict', 'worker_heartbeat']),
        ('camserver_manager', ARRAY[
            'schema_version', 'manager_register', 'manager_sync', 'manager_stop', 'pool_reap',
            'worker_ready', 'worker_failed', 'worker_gone']),
        ('camserver_ops', ARRAY[
            'schema_version', 'system_status', 'setting_number', 'suggest_usage', 'stream_budget', 'rfc3339',
            'limits_effective', 'bucket_refilled'])
    ) AS r (role_name, functions) LOOP
        v_found := false;
        FOR v_function IN SELECT oid::regprocedure AS signature FROM pg_proc
            WHERE pronamespace = 'camserver'::regnamespace AND proname = v_grant.function_name
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v_function.signature, v_grant.role_name);
            v_found := true;
        END LOOP;
        IF NOT v_found THEN
            RAISE EXCEPTION 'grants.sql names a function that does not exist: %', v_grant.function_name;
        END IF;
    END LOOP;

    -- Operators read every view.
    FOR v_function IN SELECT c.oid::regclass AS view_name FROM pg_class c
        WHERE c.relnamespace = 'camserver'::regnamespace AND c.relkind = 'v'
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO camserver_ops', v_function.view_name);
    END LOOP;
END $$;
