-- archive_stored(frame, driver, path, bytes, sha256): the image lies there now. Internal. If it belongs elsewhere by
-- now - a case was attached meanwhile - it is queued again.
CREATE OR REPLACE FUNCTION camserver.archive_stored(p_frame bigint, p_driver text, p_path text, p_bytes integer, p_sha256 text)
RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_wanted text;
BEGIN
    INSERT INTO archive_objects (frame_id, driver, path, bytes, sha256, archived_at)
    VALUES (p_frame, p_driver, p_path, p_bytes, p_sha256, clock_timestamp())
    ON CONFLICT (frame_id) DO UPDATE SET driver = p_driver, path = p_path, bytes = p_bytes, sha256 = p_sha256, removed_at = NULL,
        lingers = false;
    SELECT archive_path(f, e.case_id) INTO v_wanted FROM frames f LEFT JOIN events e USING (event_id) WHERE f.frame_id = p_frame;
    IF v_wanted <> p_path THEN
        PERFORM archive_queue(p_frame);
    END IF;
END $$;
