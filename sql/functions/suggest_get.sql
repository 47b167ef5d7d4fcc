-- suggest_get(user): the camera to look at now, as GET /api/suggest answers it. Notes that the user is looking.
CREATE OR REPLACE FUNCTION camserver.suggest_get(p_user text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_answer jsonb;
BEGIN
    PERFORM session_touch(p_user);
    SELECT jsonb_build_object(
        'suggest_active', true,
        'camera_id', g.camera_id,
        'display_name', c.display_name,
        'score', round(greatest(0, g.score - extract(epoch FROM v_now - g.scored_at)), 1),
        'reason', g.reason,
        'started_at', rfc3339(g.started_at),
        'expires_at', rfc3339(g.expires_at),
        'stream_url', coalesce(c.stream_url, replace(s.stream_url_template, '{camera_id}', c.camera_id)))
    INTO v_answer
    FROM suggest_state g JOIN cameras c USING (camera_id) JOIN stream_servers s USING (stream_server_id)
    WHERE g.expires_at > v_now;
    RETURN coalesce(v_answer, jsonb_build_object('suggest_active', false));
END $$;
