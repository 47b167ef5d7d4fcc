-- archive_removed(frames): the images of these frames are gone from the archive. Returns how many that was news of.
CREATE OR REPLACE FUNCTION camserver.archive_removed(p_frames bigint[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    UPDATE archive_objects SET removed_at = clock_timestamp() WHERE frame_id = ANY (p_frames) AND removed_at IS NULL;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END $$;
