-- camera_set(id, changes): create a camera or change it. p_changes holds column names and values; an unknown
-- name is an error; what is not named stays. A new camera is named after its id until it gets a display_name.
CREATE OR REPLACE FUNCTION camserver.camera_set(p_id text, p_changes jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_allowed text[] := ARRAY['display_name', 'location_label', 'stream_server_id', 'stream_url', 'enabled',
        'suggest_weight'];
    v_wrong text;
BEGIN
    SELECT k INTO v_wrong FROM jsonb_object_keys(p_changes) k WHERE k <> ALL (v_allowed) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a camera has no property "%"', v_wrong
            USING ERRCODE = 'undefined_column', HINT = 'Properties: ' || array_to_string(v_allowed, ', ') || '.';
    END IF;

    INSERT INTO cameras (camera_id, display_name) VALUES (p_id, p_id) ON CONFLICT DO NOTHING;
    UPDATE cameras c SET
        display_name = coalesce(n.display_name, c.display_name),
        location_label = CASE WHEN p_changes ? 'location_label' THEN nullif(n.location_label, '')
            ELSE c.location_label END,
        stream_server_id = coalesce(n.stream_server_id, c.stream_server_id),
        stream_url = CASE WHEN p_changes ? 'stream_url' THEN nullif(n.stream_url, '') ELSE c.stream_url END,
        enabled = coalesce(n.enabled, c.enabled),
        suggest_weight = coalesce(n.suggest_weight, c.suggest_weight),
        updated_at = clock_timestamp()
    FROM jsonb_populate_record(NULL::cameras, p_changes) n
    WHERE c.camera_id = p_id;
END $$;
