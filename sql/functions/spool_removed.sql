-- spool_removed(uuids): the images of these frames are gone from the spool. Returns how many that was news of.
CREATE OR REPLACE FUNCTION camserver.spool_removed(p_frames uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    UPDATE frames SET image_removed_at = clock_timestamp() WHERE frame_uuid = ANY (p_frames) AND image_removed_at IS NULL;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END $$;
