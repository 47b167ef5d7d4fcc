-- rows_expire(): forget frames whose class's time is over and whose images are gone from spool and archive, and closed
-- events that have no frame left. Class case stays, and so does a frame that somebody is at work on: its image may be on its
-- way into the archive. Nobody is kept waiting for the commit to reach the disk: what a crash brings back goes again.
-- p_now: the time to judge by. Returns jsonb: count of rows, more, as expire_run() has them.
CREATE OR REPLACE FUNCTION camserver.rows_expire(p_now timestamptz DEFAULT clock_timestamp()) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_class retention_class;
    v_before timestamptz;
    v_steps text[] := '{}';
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR v_class, v_before IN VALUES
        ('normal'::retention_class, p_now - make_interval(days => setting_number('keep_normal_days')::integer)),
        ('quarantine', p_now - make_interval(days => setting_number('keep_quarantine_days')::integer))
    LOOP
        v_steps := v_steps || ARRAY[format(
            'e AS (SELECT f.frame_id FROM frames f'
            '    WHERE f.retention_class = %L AND f.received_at < %L AND f.image_removed_at IS NOT NULL'
            '      AND NOT EXISTS (SELECT 1 FROM archive_objects o WHERE o.frame_id = f.frame_id AND (o.removed_at IS NULL OR o.lingers))'
            '      AND NOT EXISTS (SELECT 1 FROM inference_jobs j WHERE j.frame_id = f.frame_id AND j.status = ''running'')'
            '    ORDER BY f.received_at LIMIT $1 FOR UPDATE SKIP LOCKED),'
            'o AS (DELETE FROM archive_objects o USING e WHERE o.frame_id = e.frame_id),'
            'gone AS (DELETE FROM frames f USING e WHERE f.frame_id = e.frame_id RETURNING f.frame_id AS id)', v_class, v_before),
            expire_rows('events', format(
            'state = ''closed'' AND retention_class = %1$L AND end_at < %2$L AND created_at < %2$L'
            ' AND NOT EXISTS (SELECT 1 FROM frames f WHERE f.event_id = events.event_id) ORDER BY end_at', v_class, v_before))];
    END LOOP;
    RETURN expire_run(v_steps) - 'ids';
END $$;
