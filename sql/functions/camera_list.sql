-- camera_list(): every camera with the newest of its frames, analysed or not, as GET /api/cameras answers it.
-- Returns jsonb: outcome OK with cameras, by camera_id; latest_frame is null for a camera without any. One index
-- lookup a camera, however many frames there are. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.camera_list() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object('outcome', 'OK', 'cameras', coalesce(jsonb_agg(jsonb_build_object(
            'camera_id', c.camera_id, 'display_name', c.display_name, 'location_label', c.location_label,
            'enabled', c.enabled, 'latest_frame', f.latest) ORDER BY c.camera_id), '[]'))
        FROM cameras c LEFT JOIN LATERAL (
            SELECT jsonb_build_object('frame_uuid', n.frame_uuid, 'captured_at', rfc3339(n.captured_at),
                'detected', n.detected, 'primary_event', n.primary_event, 'severity', n.severity) AS latest
            FROM frames n WHERE n.camera_id = c.camera_id ORDER BY n.captured_at DESC, n.frame_id DESC LIMIT 1
        ) f ON true);
END $$;
