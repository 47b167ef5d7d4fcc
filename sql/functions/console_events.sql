-- console_events(user, role, ...): a page of the list of events as event_list() gives it, with who is looking, the names of
-- the cameras (all, to choose from, on the first page) and the labels of the tags. As GET /api/console/events answers it.
-- Returns jsonb: outcome OK with who, events, next, cameras, labels; BAD_CURSOR. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.console_events(
    p_user text, p_role camserver.caller_role,
    p_camera text DEFAULT NULL, p_primary_event text DEFAULT NULL, p_state camserver.event_state DEFAULT NULL,
    p_severity integer DEFAULT NULL, p_since timestamptz DEFAULT NULL, p_before timestamptz DEFAULT NULL,
    p_limit integer DEFAULT NULL, p_cursor text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_page jsonb := event_list(p_camera, p_primary_event, p_state, p_severity, p_since, p_before, p_limit, p_cursor);
BEGIN
    IF v_page->>'outcome' <> 'OK' THEN
        RETURN v_page;
    END IF;
    RETURN v_page || jsonb_build_object('who', console_who(p_user, p_role),
        'cameras', (SELECT coalesce(jsonb_object_agg(c.camera_id, c.display_name), '{}') FROM cameras c
            WHERE p_cursor IS NULL OR c.camera_id IN (SELECT e->>'camera_id' FROM jsonb_array_elements(v_page->'events') e)),
        'labels', tag_labels(ARRAY(SELECT DISTINCT t FROM jsonb_array_elements(v_page->'events') e,
            jsonb_array_elements_text(e->'tags') t)));
END $$;
