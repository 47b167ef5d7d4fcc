-- archive_expired(driver, n): up to n images in that archive whose class's time is over. The caller deletes them and then
-- says so with archive_removed(); one that dies in between leaves them to the next call. Class case never expires.
-- p_now: the time to judge by. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.archive_expired(p_driver text, p_n integer, p_now timestamptz DEFAULT clock_timestamp())
RETURNS TABLE (frame_id bigint, path text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT o.frame_id, o.path
    FROM (VALUES ('normal'::retention_class, p_now - make_interval(days => setting_number('keep_normal_days')::integer)),
                 ('quarantine', p_now - make_interval(days => setting_number('keep_quarantine_days')::integer))) AS k (class, before)
    JOIN frames f ON f.retention_class = k.class AND f.received_at < k.before
    JOIN archive_objects o ON o.frame_id = f.frame_id
    WHERE o.removed_at IS NULL AND o.driver = p_driver
    LIMIT p_n;
END $$;
