-- case_rearchive(event, frames): these frames of an event (NULL: all) change their folder in the archive; those that
-- are there, or on their way, get a job. Internal: the caller holds the camera's advisory lock.
CREATE OR REPLACE FUNCTION camserver.case_rearchive(p_event_id bigint, p_frames bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM archive_queue(f.frame_id) FROM frames f
    WHERE f.event_id = p_event_id AND (p_frames IS NULL OR f.frame_id = ANY (p_frames))
      AND (EXISTS (SELECT 1 FROM archive_objects o WHERE o.frame_id = f.frame_id AND o.removed_at IS NULL)
        OR EXISTS (SELECT 1 FROM inference_jobs j WHERE j.frame_id = f.frame_id AND j.kind = 'archive'
            AND j.status IN ('queued', 'waiting', 'running')));
END $$;
