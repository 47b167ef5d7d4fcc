-- event_apply(camera, frame, ..., gap): put a detection into its event: extend the one it belongs to, or close what is open
-- and open a new one. Internal: the caller holds the camera's advisory lock. A frame that comes late extends,
-- never shortens, and never closes what is newer. Returns the event's id.
CREATE OR REPLACE FUNCTION camserver.event_apply(
    p_camera text, p_frame bigint, p_captured_at timestamptz, p_primary_event text, p_severity smallint,
    p_confidence real, p_best_score double precision, p_retention camserver.retention_class, p_retention_reason text,
    p_gap interval)
RETURNS bigint
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_open events%ROWTYPE;
    v_event bigint;
    v_late boolean;
BEGIN
    SELECT * INTO v_open FROM events WHERE camera_id = p_camera AND state = 'open' FOR UPDATE;
    v_event := event_match(v_open, p_camera, p_primary_event, p_captured_at, p_gap);
    IF v_event IS NOT NULL THEN
        UPDATE events SET
            start_at = least(start_at, p_captured_at),
            last_seen_at = greatest(last_seen_at, p_captured_at),
            end_at = CASE WHEN state = 'closed' THEN greatest(end_at, p_captured_at) END,
            severity_max = greatest(severity_max, p_severity),
            confidence_max = greatest(confidence_max, p_confidence),
            frame_count = frame_count + 1,
            retention_reason = CASE WHEN p_retention > retention_class THEN p_retention_reason ELSE retention_reason END,
            retention_class = greatest(retention_class, p_retention),
            retention_before = CASE WHEN p_retention > (retention_before->>'class')::retention_class
                THEN jsonb_build_object('class', p_retention, 'reason', p_retention_reason) ELSE retention_before END,
            best_frame_id = CASE WHEN best_score IS NULL OR p_best_score > best_score THEN p_frame ELSE best_frame_id END,
            best_score = greatest(best_score, p_best_score),
            updated_at = v_now
        WHERE event_id = v_event;
        RETURN v_event;
    END IF;

    v_late := p_captured_at < v_open.last_seen_at;
    IF v_open.event_id IS NOT NULL AND NOT v_late THEN
        UPDATE events SET state = 'closed', end_at = last_seen_at, updated_at = v_now,
            close_reason = CASE WHEN p_captured_at > v_open.last_seen_at + p_gap THEN 'gap' ELSE 'changed' END
        WHERE event_id = v_open.event_id;
    END IF;
    INSERT INTO events (camera_id, start_at, last_seen_at, primary_event, severity_max, confidence_max, best_frame_id,
        best_score, retention_class, retention_reason, created_at, updated_at, state, end_at, close_reason)
    VALUES (p_camera, p_captured_at, p_captured_at, p_primary_event, p_severity, p_confidence, p_frame,
        p_best_score, p_retention, p_retention_reason, v_now, v_now,
        CASE WHEN v_late THEN 'closed' ELSE 'open' END::event_state,
        CASE WHEN v_late THEN p_captured_at END,
        CASE WHEN v_late THEN CASE WHEN p_captured_at < v_open.start_at - p_gap THEN 'gap' ELSE 'changed' END END)
    RETURNING event_id INTO v_event;
    RETURN v_event;
END $$;
