-- spool_expire(n): take up to n images out of the spool that need not stay: nothing was detected, keep_undetected_sec
-- ago; archived, keep_spool_sec ago; or the time of its class is over, analysed or not. Class case stays unless it is
-- archived. Returns their frames' uuids; fewer than n says nothing about whether there are more, none does.
-- With the call's commit they are gone; the caller deletes the files. Those of one that dies in between belong to nobody
-- then (spool_unknown).
-- p_now: the time to judge by. Locks: the frames, passing over those that somebody else has.
CREATE OR REPLACE FUNCTION camserver.spool_expire(p_n integer, p_now timestamptz DEFAULT clock_timestamp()) RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_undetected timestamptz := p_now - make_interval(secs => setting_number('keep_undetected_sec')::float8);
    v_frames text[] := ARRAY[
        format('SELECT frame_id FROM frames WHERE event_id IS NULL AND image_removed_at IS NULL AND received_at < %1$L'
            ' AND analyzed AND NOT detected AND analyzed_at < %1$L ORDER BY received_at', v_undetected),
        format('SELECT f.frame_id FROM archive_objects o JOIN frames f USING (frame_id)'
            ' WHERE o.spooled AND o.archived_at < %L AND f.image_removed_at IS NULL ORDER BY o.archived_at',
            p_now - make_interval(secs => setting_number('keep_spool_sec')::float8)),
        format('SELECT frame_id FROM frames WHERE retention_class = ''normal'' AND received_at < %L AND image_removed_at IS NULL'
            ' ORDER BY received_at', p_now - make_interval(days => setting_number('keep_normal_days')::integer)),
        format('SELECT frame_id FROM frames WHERE retention_class = ''quarantine'' AND received_at < %L AND image_removed_at IS NULL'
            ' ORDER BY received_at', p_now - make_interval(days => setting_number('keep_quarantine_days')::integer))];
BEGIN
    RETURN QUERY SELECT u::uuid FROM jsonb_array_elements_text(expire_run(ARRAY(SELECT format(
        'e AS (%s LIMIT $1 FOR UPDATE SKIP LOCKED),'
        'o AS (UPDATE archive_objects o SET spooled = false FROM e WHERE o.frame_id = e.frame_id AND o.spooled),'
        'gone AS (UPDATE frames f SET image_removed_at = clock_timestamp() FROM e WHERE f.frame_id = e.frame_id RETURNING f.frame_uuid AS id)', q)
        FROM unnest(v_frames) q), p_n)->'ids') u;
END $$;
