-- archive_queue(frame): have the frame's image put, or moved, to where it belongs now. Internal: the caller holds the
-- camera's lock. A job for it covers this, also one that runs: if it is going to the old place, archive_stored() queues the
-- move. Two at work at once would leave a copy that nobody knows of.
CREATE OR REPLACE FUNCTION camserver.archive_queue(p_frame bigint) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    INSERT INTO inference_jobs (kind, camera_id, frame_id, captured_at, max_attempt, created_at, available_at)
    SELECT 'archive', f.camera_id, f.frame_id, f.captured_at, setting_number('archive_max_attempt'), v_now, v_now
    FROM frames f WHERE f.frame_id = p_frame
      AND NOT EXISTS (SELECT 1 FROM inference_jobs j
          WHERE j.frame_id = p_frame AND j.kind = 'archive' AND j.status IN ('queued', 'waiting', 'running'));
END $$;
