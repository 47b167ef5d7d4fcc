-- camera_latest(camera): the uuids of a camera's newest frames, newest first: the image of the first may be gone from
-- the spool already, then the next serves.
-- Returns jsonb: outcome OK with frames (1 to 5 uuids), UNKNOWN_CAMERA, NO_FRAME. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.camera_latest(p_camera text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_frames CONSTANT integer := 5;
    v_frames jsonb;
BEGIN
    PERFORM 1 FROM cameras WHERE camera_id = p_camera;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_CAMERA');
    END IF;
    SELECT jsonb_agg(n.frame_uuid ORDER BY n.captured_at DESC, n.frame_id DESC) INTO v_frames FROM (
        SELECT f.frame_uuid, f.captured_at, f.frame_id FROM frames f WHERE f.camera_id = p_camera
        ORDER BY f.captured_at DESC, f.frame_id DESC LIMIT c_frames) n;
    IF v_frames IS NULL THEN
        RETURN jsonb_build_object('outcome', 'NO_FRAME');
    END IF;
    RETURN jsonb_build_object('outcome', 'OK', 'frames', v_frames);
END $$;
