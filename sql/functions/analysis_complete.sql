-- analysis_complete(dispatcher, results): the answers of inference nodes take effect: frame, tags, event, event tags,
-- suggestion, and the job is done - all in this one transaction. p_results is a jsonb array; each element: job_id,
-- token, result (the node's whole answer), schema_version, detected, primary_event, unknown_flag, severity, confidence,
-- count_hint, blur_score, tags (ids), and the policy's decisions retention_class, retention_reason, best_score,
-- suggest_score, hazard, and what follows: archive, escalate (booleans), notify_rule (or null); and the permit of its call,
-- if it has one, which is released, whatever else becomes of the element.
-- An element whose token is not current changes nothing. Any other fault of an element fails the whole call: the
-- caller then sends them one by one. Returns jsonb: done and fenced counts, followups if any were queued.
-- Locks: advisory 'camera' of each camera with a detection in lock_id order; then the jobs; then 'escalate'; 'suggest'; last
-- those of permit_release.
CREATE OR REPLACE FUNCTION camserver.analysis_complete(p_dispatcher uuid, p_results jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_done integer;
    v_seen jsonb;   -- the detections among the elements, each with its job's frame, camera and time
    v_tagged jsonb; -- frames with tags: frame_id, schema_version, tags
    v_frames bigint[];
    v_permits uuid[];
    v_followups integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_class('camera'), l.lock_id) FROM (
        SELECT DISTINCT c.lock_id
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint, detected boolean)
        JOIN inference_jobs j USING (job_id) JOIN cameras c USING (camera_id)
        WHERE r.detected
        ORDER BY c.lock_id) l;

    -- The array is taken apart once. Most frames show nothing, and are finished with this statement.
    WITH told AS MATERIALIZED (
        SELECT * FROM ROWS FROM (
            jsonb_to_recordset(p_results) AS (job_id bigint, token bigint, result jsonb, schema_version text, detected boolean,
                primary_event text, unknown_flag boolean, severity smallint, confidence real, count_hint integer, blur_score real,
                tags jsonb, retention_class retention_class, retention_reason text, permit uuid),
            jsonb_array_elements(p_results)) AS t (job_id, token, result, schema_version, detected, primary_event, unknown_flag,
                severity, confidence, count_hint, blur_score, tags, retention_class, retention_reason, permit, item)
    ), ended AS MATERIALIZED (
        SELECT * FROM job_complete((SELECT array_agg(t.job_id) FROM told t), (SELECT array_agg(t.token) FROM told t), '{analyze}')
    ), empty AS (
        UPDATE frames f SET analyzed = true, analyzed_at = clock_timestamp(), detected = t.detected, primary_event = t.primary_event,
            unknown_flag = t.unknown_flag, severity = t.severity, confidence = t.confidence, count_hint = t.count_hint,
            blur_score = t.blur_score, result_json = t.result, tags_json = t.tags, event_id = NULL,
            retention_class = t.retention_class, retention_reason = t.retention_reason, retention_before = NULL
        FROM ended e JOIN told t USING (token)
        WHERE f.frame_id = e.frame_id AND t.detected IS NOT TRUE
    )
    SELECT (SELECT count(*) FROM ended), (SELECT array_agg(t.permit) FROM told t WHERE t.permit IS NOT NULL), array_agg(e.frame_id),
        jsonb_agg(t.item || jsonb_build_object('frame_id', e.frame_id, 'camera_id', e.camera_id, 'captured_at', e.captured_at))
            FILTER (WHERE t.detected),
        jsonb_agg(jsonb_build_object('frame_id', e.frame_id, 'schema_version', t.schema_version, 'tags', t.tags))
            FILTER (WHERE t.tags <> '[]')
    INTO v_done, v_permits, v_frames, v_seen, v_tagged
    FROM ended e JOIN told t USING (token);

    DELETE FROM frame_tags WHERE frame_id = ANY (v_frames);
    IF v_tagged IS NOT NULL THEN
        INSERT INTO frame_tags (frame_id, tag_id, tag_group)
        SELECT DISTINCT f.frame_id, t.tag_id, coalesce(s.tag_group, split_part(t.tag_id, '.', 1))
        FROM jsonb_to_recordset(v_tagged) AS r (frame_id bigint, schema_version text, tags jsonb)
        JOIN frames f USING (frame_id)
        CROSS JOIN jsonb_array_elements_text(r.tags) AS t (tag_id)
        LEFT JOIN schema_tags s ON s.schema_version = r.schema_version AND s.tag_id = t.tag_id;
    END IF;
    IF v_seen IS NOT NULL THEN
        v_followups := analysis_detect(v_seen);
    END IF;
    IF v_permits IS NOT NULL THEN
        PERFORM permit_release(v_permits, p_dispatcher);
    END IF;
    RETURN jsonb_build_object('done', v_done, 'fenced', jsonb_array_length(p_results) - v_done)
        || CASE WHEN v_followups > 0 THEN jsonb_build_object('followups', v_followups) ELSE '{}' END;
END $$;
