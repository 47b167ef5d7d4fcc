-- rows_expire(): forget frames whose class's time is over and whose images are gone from spool and archive, and closed
-- events that have no frame left; a small batch of each a call, so that nobody waits for its locks. Class case stays, and
-- so does a frame that somebody is at work on: its image may be on its way into the archive.
-- p_now: the time to judge by. Returns jsonb: count of rows, more = true while a batch was more than half full.
CREATE OR REPLACE FUNCTION camserver.rows_expire(p_now timestamptz DEFAULT clock_timestamp()) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 100;
    v_class retention_class;
    v_before timestamptz;
    v_frames bigint[];
    v_count integer;
    v_sum integer := 0;
    v_more boolean := false;
BEGIN
    FOR v_class, v_before IN VALUES
        ('normal'::retention_class, p_now - make_interval(days => setting_number('keep_normal_days')::integer)),
        ('quarantine', p_now - make_interval(days => setting_number('keep_quarantine_days')::integer))
    LOOP
        SELECT array_agg(frame_id) INTO v_frames FROM (
            SELECT f.frame_id FROM frames f
            WHERE f.retention_class = v_class AND f.received_at < v_before AND f.image_removed_at IS NOT NULL
              AND NOT EXISTS (SELECT 1 FROM archive_objects o WHERE o.frame_id = f.frame_id AND o.removed_at IS NULL)
              AND NOT EXISTS (SELECT 1 FROM inference_jobs j WHERE j.frame_id = f.frame_id AND j.status = 'running')
            ORDER BY f.received_at LIMIT c_batch FOR UPDATE SKIP LOCKED) e;
        DELETE FROM archive_objects WHERE frame_id = ANY (v_frames);
        DELETE FROM frames WHERE frame_id = ANY (v_frames);
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_sum := v_sum + v_count;
        v_more := v_more OR v_count > c_batch / 2;

        DELETE FROM events WHERE event_id IN (
            SELECT e.event_id FROM events e
            WHERE e.state = 'closed' AND e.retention_class = v_class AND e.end_at < v_before AND e.created_at < v_before
              AND NOT EXISTS (SELECT 1 FROM frames f WHERE f.event_id = e.event_id)
            ORDER BY e.end_at LIMIT c_batch FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS v_count = ROW_COUNT;
        v_sum := v_sum + v_count;
        v_more := v_more OR v_count > c_batch / 2;
    END LOOP;
    RETURN jsonb_build_object('count', v_sum, 'more', v_more);
END $$;
