-- followup_complete(dispatcher, results): follow-ups that were done take effect. Each element of the jsonb array: job_id,
-- token, and for archive: driver, path, bytes, sha256; for escalate: what escalate_answered() takes, and the call's permit, which is released.
-- An element whose token is not current changes nothing. Any other fault of an element fails the whole call: the caller
-- then sends them one by one. Returns jsonb: done and fenced counts, how many of each kind are done, and queued = true if
-- there is more to do now.
-- Locks: advisory 'camera' of each camera in lock_id order; then the jobs; last those of permit_release.
CREATE OR REPLACE FUNCTION camserver.followup_complete(p_dispatcher uuid, p_results jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_lock integer;
    v_item jsonb;
    v_job inference_jobs%ROWTYPE;
    v_done integer := 0;
    v_kinds jsonb := '{}';
    v_fenced integer := 0;
    v_queued boolean := false;
    v_permits uuid[] := '{}';
BEGIN
    FOR v_lock IN
        SELECT DISTINCT c.lock_id
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint) JOIN inference_jobs j USING (job_id) JOIN cameras c USING (camera_id)
        ORDER BY c.lock_id
    LOOP
        PERFORM pg_advisory_xact_lock(lock_class('camera'), v_lock);
    END LOOP;

    FOR v_item IN SELECT r FROM jsonb_array_elements(p_results) r ORDER BY (r->>'job_id')::bigint LOOP
        IF v_item ? 'permit' THEN
            v_permits := v_permits || (v_item->>'permit')::uuid;
        END IF;
        UPDATE inference_jobs j SET status = 'done', finished_at = clock_timestamp(), last_error = NULL,
            locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
        WHERE j.job_id = (v_item->>'job_id')::bigint AND j.locked_token = (v_item->>'token')::bigint
          AND j.status = 'running' AND j.kind <> 'analyze'
        RETURNING * INTO v_job;
        IF NOT FOUND THEN
            v_fenced := v_fenced + 1;
            CONTINUE;
        END IF;
        CASE v_job.kind
        WHEN 'archive' THEN
            PERFORM archive_stored(v_job.frame_id, v_item->>'driver', v_item->>'path', (v_item->>'bytes')::integer, v_item->>'sha256');
        WHEN 'notify' THEN
            PERFORM notify_delivered(v_job.ref_id);
            v_queued := true;
        WHEN 'escalate' THEN
            PERFORM escalate_answered(v_job.ref_id, v_item);
        END CASE;
        v_done := v_done + 1;
        v_kinds := v_kinds || jsonb_build_object(v_job.kind, coalesce((v_kinds->>v_job.kind::text)::integer, 0) + 1);
    END LOOP;
    PERFORM permit_release(v_permits, p_dispatcher);
    RETURN v_kinds || jsonb_build_object('done', v_done, 'fenced', v_fenced, 'queued', v_queued);
END $$;
