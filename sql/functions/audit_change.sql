-- audit_change(action, keys, column...): trigger. Notes the named columns that a change of a row really changed, whoever
-- made it and however: the API, camctl or a person at psql. The columns in keys (divided by commas) name the row; the value
-- of "environment" may hold secrets, so that only its names are noted. A change of none of the columns leaves no note.
CREATE OR REPLACE FUNCTION camserver.audit_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_old jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    v_new jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    v_before jsonb;
    v_after jsonb;
BEGIN
    SELECT jsonb_object_agg(c, shown.o) FILTER (WHERE v_old IS NOT NULL),
        jsonb_object_agg(c, shown.n) FILTER (WHERE v_new IS NOT NULL)
    INTO v_before, v_after
    FROM unnest(TG_ARGV[2:]) c CROSS JOIN LATERAL (SELECT v_old->c AS o, v_new->c AS n) was CROSS JOIN LATERAL (
        SELECT CASE WHEN c = 'environment' THEN jsonb_path_query_array(was.o, '$.keyvalue().key') ELSE was.o END AS o,
            CASE WHEN c = 'environment' THEN jsonb_path_query_array(was.n, '$.keyvalue().key') ELSE was.n END AS n) shown
    WHERE was.o IS DISTINCT FROM was.n;
    IF coalesce(v_before, v_after) IS NOT NULL THEN
        PERFORM audit_note(TG_ARGV[0] || CASE TG_OP WHEN 'INSERT' THEN '.add' WHEN 'DELETE' THEN '.remove' ELSE '.set' END,
            (SELECT string_agg(coalesce(v_new, v_old)->>k, '/' ORDER BY n)
                FROM unnest(string_to_array(TG_ARGV[1], ',')) WITH ORDINALITY AS keys (k, n)),
            CASE TG_OP WHEN 'DELETE' THEN jsonb_strip_nulls(v_before) ELSE v_before END,
            CASE TG_OP WHEN 'INSERT' THEN jsonb_strip_nulls(v_after) ELSE v_after END);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR DELETE OR UPDATE ON camserver.stream_servers FOR EACH ROW
    EXECUTE FUNCTION camserver.audit_change('budget', 'stream_server_id', 'total_units', 'baseline_units', 'max_ui_users',
        'sub_cost', 'main_cost', 'modal_ttl_sec', 'heartbeat_interval_sec', 'heartbeat_grace_sec', 'stream_url_template');
CREATE OR REPLACE TRIGGER audit_change AFTER DELETE OR UPDATE OF value ON camserver.settings FOR EACH ROW
    EXECUTE FUNCTION camserver.audit_change('setting', 'name', 'value');
-- A pool's counters change with every start; only these columns are an operator's.
CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR DELETE OR UPDATE OF driver, command, image, environment, host,
    max_capacity, min_idle, max_waiters, idle_timeout_sec, acquire_timeout_sec, draining ON camserver.pools FOR EACH ROW
    EXECUTE FUNCTION camserver.audit_change('pool', 'name', 'driver', 'command', 'image', 'environment', 'host', 'max_capacity',
        'min_idle', 'max_waiters', 'idle_timeout_sec', 'acquire_timeout_sec', 'start_timeout_sec', 'stop_grace_sec',
        'health_path', 'call_path', 'container_port', 'memory_mb', 'open_files', 'draining');
-- limits_set makes an empty row before it fills it in.
CREATE OR REPLACE TRIGGER audit_change AFTER DELETE OR UPDATE ON camserver.rate_limits FOR EACH ROW
    EXECUTE FUNCTION camserver.audit_change('limit', 'level,provider_id,model', 'requests', 'window_ms', 'concurrent', 'shared');
CREATE OR REPLACE TRIGGER audit_change_add AFTER INSERT ON camserver.rate_limits FOR EACH ROW
    WHEN (coalesce(NEW.requests, NEW.window_ms, NEW.concurrent) IS NOT NULL OR NEW.shared)
    EXECUTE FUNCTION camserver.audit_change('limit', 'level,provider_id,model', 'requests', 'window_ms', 'concurrent', 'shared');
CREATE OR REPLACE TRIGGER audit_change AFTER INSERT OR DELETE OR UPDATE ON camserver.nodes FOR EACH ROW
    EXECUTE FUNCTION camserver.audit_change('node', 'name', 'base_url', 'models', 'max_inflight', 'weight', 'http2', 'health_path',
        'draining');
