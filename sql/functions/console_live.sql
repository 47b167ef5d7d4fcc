-- console_live(user, role, returning): all that the page Live shows, as GET /api/console/live answers it. A viewer that
-- comes back counts as looking. Returns jsonb: outcome OK with who, health, budget, suggest (or null) and the enabled
-- cameras with their newest frame, the event that is open there, and whether frames still come (camera_offline_sec).
-- Holds nothing that changes by itself from one moment to the next, so that an unchanged answer can be recognised.
-- One index lookup or two for a camera. Locks: the viewer's session, at most every 15 s.
CREATE OR REPLACE FUNCTION camserver.console_live(p_user text, p_role camserver.caller_role, p_returning boolean DEFAULT true)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_offline timestamptz := v_now - make_interval(secs => setting_number('camera_offline_sec')::float8);
    v_status jsonb := system_status(CASE WHEN p_returning THEN p_user END);
    v_suggest jsonb;
    v_cameras jsonb;
BEGIN
    SELECT jsonb_build_object('camera_id', g.camera_id, 'reason', g.reason, 'started_at', rfc3339(g.started_at))
    INTO v_suggest FROM suggest_state g JOIN cameras c USING (camera_id) WHERE g.expires_at > v_now AND c.enabled;
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'camera_id', c.camera_id, 'display_name', c.display_name, 'location_label', c.location_label,
        'online', coalesce(f.received_at > v_offline, false), 'costs', jsonb_build_object('sub', s.sub_cost, 'main', s.main_cost),
        'latest_frame', CASE WHEN f.frame_uuid IS NOT NULL THEN jsonb_build_object('frame_uuid', f.frame_uuid,
            'captured_at', rfc3339(f.captured_at), 'spooled', f.image_removed_at IS NULL) END,
        'open_event', CASE WHEN e.event_uuid IS NOT NULL THEN jsonb_build_object('event_uuid', e.event_uuid,
            'primary_event', e.primary_event, 'severity_max', e.severity_max, 'start_at', rfc3339(e.start_at)) END)
        ORDER BY c.location_label NULLS LAST, c.display_name, c.camera_id), '[]')
    INTO v_cameras
    FROM cameras c JOIN stream_servers s USING (stream_server_id)
    LEFT JOIN LATERAL (
        SELECT n.frame_uuid, n.captured_at, n.received_at, n.image_removed_at FROM frames n
        WHERE n.camera_id = c.camera_id ORDER BY n.captured_at DESC, n.frame_id DESC LIMIT 1) f ON true
    LEFT JOIN events e ON e.camera_id = c.camera_id AND e.state = 'open'
    WHERE c.enabled;
    RETURN jsonb_build_object('outcome', 'OK', 'who', console_who(p_user, p_role),
        'health', jsonb_build_object('healthy', v_status->'healthy', 'level', v_status->'level'),
        'budget', jsonb_build_object('modal_budget', v_status->'modal_budget', 'modal_usage', v_status->'modal_usage',
            'active_modals', v_status->'active_modals', 'remaining', v_status->'modal_budget_remaining'),
        'viewers', v_status->'active_ui_users', 'suggest', v_suggest, 'cameras', v_cameras);
END $$;
