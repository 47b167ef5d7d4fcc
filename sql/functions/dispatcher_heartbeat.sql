-- dispatcher_heartbeat(id, permits, llm_model, analyze_model): this process lives, and so do these permits of its calls. Returns jsonb: known = false if it is not registered (any more):
-- register again; and the tunables that a dispatcher goes by, so that a change reaches it with the next heartbeat;
-- llm_known: that model can be called without an address of the dispatcher's own; analyze_pool: the other's worker pool.
CREATE OR REPLACE FUNCTION camserver.dispatcher_heartbeat(
    p_id uuid, p_permits uuid[] DEFAULT '{}', p_llm_model text DEFAULT NULL, p_analyze_model text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_known boolean;
BEGIN
    UPDATE dispatchers SET last_heartbeat = clock_timestamp() WHERE dispatcher_id = p_id AND stopped_at IS NULL;
    v_known := FOUND;
    IF p_permits <> '{}' THEN
        PERFORM permit_renew(p_id, p_permits);
    END IF;
    RETURN jsonb_build_object('known', v_known)
        || (SELECT jsonb_object_agg(name, value::numeric) FROM settings
            WHERE name IN ('dispatcher_stale_sec', 'analyze_inflight', 'archive_inflight', 'job_backoff_base_ms', 'job_backoff_max_ms',
                'permit_ttl_sec'))
        || jsonb_build_object('llm_known', EXISTS (SELECT 1 FROM models m JOIN providers p USING (provider_id)
                WHERE m.model = p_llm_model AND m.enabled AND coalesce(m.pool, p.base_url) IS NOT NULL),
            'analyze_pool', (SELECT m.pool FROM models m WHERE m.model = p_analyze_model),
            'retention_rules', (SELECT coalesce(jsonb_agg(
            jsonb_build_object('pattern', pattern, 'class', retention_class) ORDER BY position), '[]') FROM retention_rules));
END $$;
