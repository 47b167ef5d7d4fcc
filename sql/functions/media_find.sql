-- media_find(frame): where a frame's image lies.
-- Returns jsonb: outcome OK with spooled (the spool of the host that took it in should have it) and driver, path and
-- bytes in the archive (null: not there); UNKNOWN_FRAME. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.media_find(p_frame_uuid uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_place jsonb;
BEGIN
    SELECT jsonb_build_object('outcome', 'OK', 'spooled', f.image_removed_at IS NULL AND coalesce(o.spooled, true),
        'driver', o.driver, 'path', o.path, 'bytes', o.bytes)
    INTO v_place FROM frames f LEFT JOIN archive_objects o ON o.frame_id = f.frame_id AND o.removed_at IS NULL
    WHERE f.frame_uuid = p_frame_uuid;
    RETURN coalesce(v_place, jsonb_build_object('outcome', 'UNKNOWN_FRAME'));
END $$;
