-- archive_expire(driver, n): take images out of that archive whose class's time is over. Returns up to n that are out but
-- whose files are still there, the oldest first, those of earlier calls included: the caller deletes the files and then
-- says so with archive_removed(); one that dies in between leaves them to the next call.
-- With the call's commit they are gone: who gives an event to a case before keeps its images, who comes after is told by
-- case_attach(). Class case never expires. What is on its way to another place waits until it is there.
-- p_now: the time to judge by. Locks: frames and objects, passing over those that somebody else has.
CREATE OR REPLACE FUNCTION camserver.archive_expire(p_driver text, p_n integer, p_now timestamptz DEFAULT clock_timestamp())
RETURNS TABLE (frame_id bigint, path text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_room integer := p_n - (SELECT count(*) FROM (
        SELECT 1 FROM archive_objects o WHERE o.lingers AND o.driver = p_driver LIMIT p_n) l);
BEGIN
    PERFORM expire_run(ARRAY(SELECT format(
        'e AS (SELECT f.frame_id FROM frames f JOIN archive_objects o USING (frame_id)'
        '    WHERE f.retention_class = %L AND f.received_at < %L AND o.removed_at IS NULL AND o.driver = %L'
        '      AND NOT EXISTS (SELECT 1 FROM inference_jobs j WHERE j.frame_id = f.frame_id AND j.kind = ''archive'''
        '          AND j.status IN (''queued'', ''waiting'', ''running''))'
        '    ORDER BY f.received_at LIMIT $1 FOR UPDATE SKIP LOCKED),'
        'gone AS (UPDATE archive_objects o SET removed_at = clock_timestamp(), lingers = true FROM e WHERE o.frame_id = e.frame_id'
        '    RETURNING o.frame_id AS id)', k.class, k.before, p_driver)
        FROM (VALUES ('normal', p_now - make_interval(days => setting_number('keep_normal_days')::integer)),
            ('quarantine', p_now - make_interval(days => setting_number('keep_quarantine_days')::integer))) AS k (class, before)),
        v_room);
    RETURN QUERY SELECT o.frame_id, o.path FROM archive_objects o
    WHERE o.lingers AND o.driver = p_driver ORDER BY o.removed_at LIMIT p_n;
END $$;
