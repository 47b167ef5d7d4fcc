-- spool_expired(n): up to n frames whose image need not be kept any longer: analysed, nothing detected, and older than
-- keep_undetected_sec since. The caller deletes the files and then says so with spool_removed(); one that dies in
-- between leaves the frames to the next call. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.spool_expired(p_n integer) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_before timestamptz := clock_timestamp() - make_interval(secs => setting_number('keep_undetected_sec')::float8);
BEGIN
    RETURN QUERY SELECT frame_uuid FROM frames
    WHERE analyzed AND NOT detected AND image_removed_at IS NULL AND analyzed_at < v_before
    ORDER BY analyzed_at LIMIT p_n;
END $$;
