-- archive_path(frame, case): where a frame's image belongs in the archive, relative to its root. Internal. Fixed by the
-- frame, its class and its event's case, so that a retry never makes a second copy. Times are UTC.
CREATE OR REPLACE FUNCTION camserver.archive_path(p_frame camserver.frames, p_case text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp AS $$
DECLARE
    v_at timestamp := p_frame.captured_at AT TIME ZONE 'UTC';
BEGIN
    RETURN CASE p_frame.retention_class
        WHEN 'case' THEN 'case/' || p_case
        WHEN 'quarantine' THEN 'camera-quarantine/' || to_char(v_at, 'YYYY/MM')
        ELSE 'camera-archive/' || to_char(v_at, 'YYYY/MM/DD') END
        || '/' || p_frame.camera_id || '/' || to_char(v_at, 'YYYYMMDD"T"HH24MISS.MS"Z"') || '_' || p_frame.frame_uuid || '.jpg';
END $$;
