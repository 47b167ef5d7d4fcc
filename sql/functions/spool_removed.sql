-- spool_removed(uuids): the images of these frames are gone from the spool. Returns how many that was news of.
CREATE OR REPLACE FUNCTION camserver.spool_removed(p_frames uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_gone bigint[];
BEGIN
    WITH gone AS (
        UPDATE frames SET image_removed_at = clock_timestamp()
        WHERE frame_uuid = ANY (p_frames) AND image_removed_at IS NULL RETURNING frame_id
    )
    SELECT array_agg(frame_id) INTO v_gone FROM gone;
    UPDATE archive_objects SET spooled = false WHERE frame_id = ANY (v_gone) AND spooled;
    RETURN coalesce(cardinality(v_gone), 0);
END $$;
