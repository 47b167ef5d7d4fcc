-- dispatcher_heartbeat(id): this process lives. Returns jsonb: known = false if it is not registered (any more):
-- register again; and the tunables that a dispatcher goes by, so that a change reaches it with the next heartbeat.
CREATE OR REPLACE FUNCTION camserver.dispatcher_heartbeat(p_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_known boolean;
BEGIN
    UPDATE dispatchers SET last_heartbeat = clock_timestamp() WHERE dispatcher_id = p_id AND stopped_at IS NULL;
    v_known := FOUND;
    RETURN jsonb_build_object('known', v_known)
        || (SELECT jsonb_object_agg(name, value::numeric) FROM settings
            WHERE name IN ('dispatcher_stale_sec', 'analyze_inflight', 'archive_inflight', 'job_backoff_base_ms', 'job_backoff_max_ms'))
        || jsonb_build_object('retention_rules', (SELECT coalesce(jsonb_agg(
            jsonb_build_object('pattern', pattern, 'class', retention_class) ORDER BY position), '[]') FROM retention_rules));
END $$;
