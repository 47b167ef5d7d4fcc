-- spool_expired(n): up to n frames whose image need not stay in the spool: nothing was detected, keep_undetected_sec
-- ago; archived, keep_spool_sec ago; or the time of its class is over, analysed or not. The caller deletes the files and
-- then says so with spool_removed(); one that dies in between leaves the frames to the next call.
-- p_now: the time to judge by. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.spool_expired(p_n integer, p_now timestamptz DEFAULT clock_timestamp()) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_undetected timestamptz := p_now - make_interval(secs => setting_number('keep_undetected_sec')::float8);
    v_archived timestamptz := p_now - make_interval(secs => setting_number('keep_spool_sec')::float8);
    v_normal timestamptz := p_now - make_interval(days => setting_number('keep_normal_days')::integer);
    v_quarantine timestamptz := p_now - make_interval(days => setting_number('keep_quarantine_days')::integer);
BEGIN
    RETURN QUERY SELECT e.frame_uuid FROM (
        (SELECT f.frame_uuid FROM frames f
         WHERE f.event_id IS NULL AND f.image_removed_at IS NULL AND f.received_at < v_undetected
           AND f.analyzed AND NOT f.detected AND f.analyzed_at < v_undetected
         ORDER BY f.received_at LIMIT p_n)
        UNION
        (SELECT f.frame_uuid FROM archive_objects o JOIN frames f USING (frame_id)
         WHERE o.spooled AND o.archived_at < v_archived AND f.image_removed_at IS NULL
         ORDER BY o.archived_at LIMIT p_n)
        UNION
        (SELECT f.frame_uuid FROM frames f
         WHERE f.retention_class = 'normal' AND f.received_at < v_normal AND f.image_removed_at IS NULL
         ORDER BY f.received_at LIMIT p_n)
        UNION
        (SELECT f.frame_uuid FROM frames f
         WHERE f.retention_class = 'quarantine' AND f.received_at < v_quarantine AND f.image_removed_at IS NULL
         ORDER BY f.received_at LIMIT p_n)
    ) e LIMIT p_n;
END $$;
