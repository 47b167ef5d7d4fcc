-- notify_cooldown(channel, camera, primary_event, severity): why this channel is not to be told of it now, or NULL.
-- Internal: the caller holds the camera's lock. Only what was delivered starts a cooldown, and only for what is no more
-- severe than it.
CREATE OR REPLACE FUNCTION camserver.notify_cooldown(
    p_channel integer, p_camera text, p_primary_event text, p_severity smallint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_event timestamptz := v_now - make_interval(secs => setting_number('notify_event_sec')::float8);
    v_camera timestamptz := v_now - make_interval(secs => setting_number('notify_camera_sec')::float8);
    v_told_event smallint;
    v_told_camera smallint;
BEGIN
    SELECT max(n.severity) FILTER (WHERE n.primary_event = p_primary_event AND n.sent_at > v_event),
        max(n.severity) FILTER (WHERE n.sent_at > v_camera)
    INTO v_told_event, v_told_camera
    FROM notifications n
    WHERE n.channel_id = p_channel AND n.camera_id = p_camera AND n.state = 'sent' AND n.sent_at > least(v_event, v_camera);
    RETURN CASE WHEN p_severity <= v_told_event THEN 'cooldown_event' WHEN p_severity <= v_told_camera THEN 'cooldown_camera' END;
END $$;
