-- analysis_detect(seen): detections take effect: event, frame, event tags, and what follows. p_seen are elements as
-- analysis_complete() takes them, each with its job's frame_id, camera_id and captured_at. Internal, for analysis_complete(),
-- which holds the cameras' locks and has ended the jobs. Returns the jobs made. Locks: those of analysis_follow.
CREATE OR REPLACE FUNCTION camserver.analysis_detect(p_seen jsonb) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_gap interval := make_interval(secs => setting_number('event_merge_gap_sec')::float8);
    v_item record;
    v_jobs bigint[] := '{}'; -- in the order of their frames, and the event of each
    v_events bigint[] := '{}';
    v_frames bigint[] := '{}';
BEGIN
    FOR v_item IN -- said twice is done once
        SELECT DISTINCT ON (r.camera_id, r.captured_at, r.job_id) *
        FROM jsonb_to_recordset(p_seen) AS r (job_id bigint, frame_id bigint, camera_id text, captured_at timestamptz,
            primary_event text, severity smallint, confidence real, best_score double precision, retention_class retention_class,
            retention_reason text)
        ORDER BY r.camera_id, r.captured_at, r.job_id
    LOOP
        v_jobs := v_jobs || v_item.job_id;
        v_frames := v_frames || v_item.frame_id;
        v_events := v_events || event_apply(v_item.camera_id, v_item.frame_id, v_item.captured_at, v_item.primary_event,
            v_item.severity, v_item.confidence, v_item.best_score, v_item.retention_class, v_item.retention_reason, v_gap);
    END LOOP;

    UPDATE frames f SET analyzed = true, analyzed_at = clock_timestamp(), detected = true, primary_event = r.primary_event,
        unknown_flag = r.unknown_flag, severity = r.severity, confidence = r.confidence, count_hint = r.count_hint,
        blur_score = r.blur_score, result_json = r.result, tags_json = r.tags, event_id = e.event_id,
        retention_class = CASE WHEN e.case_id IS NULL THEN r.retention_class ELSE 'case' END,
        retention_reason = CASE WHEN e.case_id IS NULL THEN r.retention_reason ELSE 'case' END,
        retention_before = CASE WHEN e.case_id IS NOT NULL THEN
            jsonb_build_object('class', r.retention_class, 'reason', r.retention_reason) END
    FROM jsonb_to_recordset(p_seen) AS r (frame_id bigint, job_id bigint, result jsonb, primary_event text, unknown_flag boolean,
        severity smallint, confidence real, count_hint integer, blur_score real, tags jsonb, retention_class retention_class,
        retention_reason text)
    JOIN unnest(v_jobs, v_events) AS v (job_id, event_id) USING (job_id)
    JOIN events e USING (event_id)
    WHERE f.frame_id = r.frame_id;
    INSERT INTO event_tags (event_id, tag_id, tag_group)
    SELECT DISTINCT v.event_id, t.tag_id, t.tag_group
    FROM unnest(v_frames, v_events) AS v (frame_id, event_id) JOIN frame_tags t USING (frame_id)
    ON CONFLICT DO NOTHING;
    RETURN analysis_follow(p_seen, v_jobs, v_events);
END $$;
