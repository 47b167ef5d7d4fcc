-- stream_server_set(id, changes): create a stream server or change its parameters, effective with the next
-- request. p_changes holds column names and values; an unknown name is an error. Leases that are already
-- granted stay, also above a lowered budget: they drain by their own end.
-- Locks: the server's row.
CREATE OR REPLACE FUNCTION camserver.stream_server_set(p_id text, p_changes jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_allowed text[] := ARRAY['host', 'total_units', 'baseline_units', 'max_ui_users', 'sub_cost', 'main_cost',
        'modal_ttl_sec', 'heartbeat_interval_sec', 'heartbeat_grace_sec', 'stream_url_template'];
    v_wrong text;
BEGIN
    SELECT k INTO v_wrong FROM jsonb_object_keys(p_changes) k WHERE k <> ALL (v_allowed) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a stream server has no parameter "%"', v_wrong
            USING ERRCODE = 'undefined_column', HINT = 'Parameters: ' || array_to_string(v_allowed, ', ') || '.';
    END IF;

    INSERT INTO stream_servers (stream_server_id) VALUES (p_id) ON CONFLICT DO NOTHING;
    INSERT INTO stream_usage (stream_server_id) VALUES (p_id) ON CONFLICT DO NOTHING;
    UPDATE stream_servers s SET
        host = CASE WHEN p_changes ? 'host' THEN nullif(n.host, '') ELSE s.host END,
        total_units = coalesce(n.total_units, s.total_units),
        baseline_units = coalesce(n.baseline_units, s.baseline_units),
        max_ui_users = coalesce(n.max_ui_users, s.max_ui_users),
        sub_cost = coalesce(n.sub_cost, s.sub_cost),
        main_cost = coalesce(n.main_cost, s.main_cost),
        modal_ttl_sec = coalesce(n.modal_ttl_sec, s.modal_ttl_sec),
        heartbeat_interval_sec = coalesce(n.heartbeat_interval_sec, s.heartbeat_interval_sec),
        heartbeat_grace_sec = coalesce(n.heartbeat_grace_sec, s.heartbeat_grace_sec),
        stream_url_template = coalesce(n.stream_url_template, s.stream_url_template)
    FROM jsonb_populate_record(NULL::stream_servers, p_changes) n
    WHERE s.stream_server_id = p_id;
END $$;
