-- analysis_complete(dispatcher, results): the answers of inference nodes take effect: frame, tags, event, event tags,
-- suggestion, and the job is done - all in this one transaction. p_results is a jsonb array; each element: job_id,
-- token, result (the node's whole answer), schema_version, detected, primary_event, unknown_flag, severity, confidence,
-- count_hint, blur_score, tags (ids), and the policy's decisions retention_class, retention_reason, best_score,
-- suggest_score, hazard, and what follows: archive, escalate (booleans), notify_rule (or null); and the permit of its call,
-- if it has one, which is released, whatever else becomes of the element.
-- An element whose token is not current changes nothing. Any other fault of an element fails the whole call: the
-- caller then sends them one by one. Returns jsonb: done and fenced counts, followups if any were queued.
-- Locks: advisory 'camera' of each camera in lock_id order; then the jobs; then 'escalate'; 'suggest'; last
-- those of permit_release.
CREATE OR REPLACE FUNCTION camserver.analysis_complete(p_dispatcher uuid, p_results jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_now timestamptz;
    v_item record;
    v_ended bigint[]; -- by their tokens
    v_tokens bigint[] := '{}'; -- of those with a detection, in the order of their frames, and the events of these
    v_events bigint[] := '{}';
    v_frames bigint[];
    v_followups integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_class('camera'), l.lock_id) FROM (
        SELECT DISTINCT c.lock_id
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint) JOIN inference_jobs j USING (job_id) JOIN cameras c USING (camera_id)
        ORDER BY c.lock_id) l;
    v_now := clock_timestamp();
    SELECT job_complete(array_agg(r.job_id), array_agg(r.token), '{analyze}') INTO v_ended
    FROM jsonb_to_recordset(p_results) AS r (job_id bigint, token bigint);

    FOR v_item IN
        SELECT r.*, j.camera_id, j.captured_at, j.frame_id
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint, token bigint, detected boolean, primary_event text, severity smallint,
            confidence real, best_score double precision, retention_class retention_class, retention_reason text)
        JOIN inference_jobs j USING (job_id)
        WHERE r.detected AND r.token = ANY (v_ended)
        ORDER BY j.camera_id, j.captured_at, j.job_id
    LOOP
        CONTINUE WHEN v_item.token = ANY (v_tokens); -- said twice is done once
        v_tokens := v_tokens || v_item.token;
        v_events := v_events || event_apply(v_item.camera_id, v_item.frame_id, v_item.captured_at, v_item.primary_event,
            v_item.severity, v_item.confidence, v_item.best_score, v_item.retention_class, v_item.retention_reason);
    END LOOP;

    WITH seen AS (
        UPDATE frames f SET analyzed = true, analyzed_at = v_now, detected = r.detected, primary_event = r.primary_event,
            unknown_flag = r.unknown_flag, severity = r.severity, confidence = r.confidence, count_hint = r.count_hint,
            blur_score = r.blur_score, result_json = r.result, tags_json = r.tags, event_id = v.event_id,
            retention_class = CASE WHEN v.case_id IS NULL THEN r.retention_class ELSE 'case' END,
            retention_reason = CASE WHEN v.case_id IS NULL THEN r.retention_reason ELSE 'case' END,
            retention_before = CASE WHEN v.case_id IS NOT NULL THEN
                jsonb_build_object('class', r.retention_class, 'reason', r.retention_reason) END
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint, token bigint, result jsonb, detected boolean, primary_event text,
            unknown_flag boolean, severity smallint, confidence real, count_hint integer, blur_score real, tags jsonb,
            retention_class retention_class, retention_reason text)
        JOIN inference_jobs j USING (job_id)
        LEFT JOIN (SELECT t.token, e.event_id, e.case_id FROM unnest(v_tokens, v_events) AS t (token, event_id)
            JOIN events e USING (event_id)) v USING (token)
        WHERE f.frame_id = j.frame_id AND r.token = ANY (v_ended)
        RETURNING f.frame_id
    )
    SELECT array_agg(frame_id) INTO v_frames FROM seen;
    DELETE FROM frame_tags WHERE frame_id = ANY (v_frames);
    INSERT INTO frame_tags (frame_id, tag_id, tag_group)
    SELECT DISTINCT j.frame_id, t.tag_id, coalesce(s.tag_group, split_part(t.tag_id, '.', 1))
    FROM jsonb_to_recordset(p_results) AS r (job_id bigint, token bigint, schema_version text, tags jsonb)
    JOIN inference_jobs j USING (job_id)
    CROSS JOIN jsonb_array_elements_text(r.tags) AS t (tag_id)
    LEFT JOIN schema_tags s ON s.schema_version = r.schema_version AND s.tag_id = t.tag_id
    WHERE r.token = ANY (v_ended) AND j.frame_id = ANY (v_frames);
    IF v_tokens <> '{}' THEN
        INSERT INTO event_tags (event_id, tag_id, tag_group)
        SELECT DISTINCT f.event_id, t.tag_id, t.tag_group FROM frames f JOIN frame_tags t USING (frame_id)
        WHERE f.frame_id = ANY (v_frames) AND f.event_id = ANY (v_events)
        ON CONFLICT DO NOTHING;
        v_followups := analysis_follow(p_results, v_tokens, v_events);
    END IF;
    PERFORM permit_release(ARRAY(SELECT r.permit FROM jsonb_to_recordset(p_results) AS r (permit uuid) WHERE r.permit IS NOT NULL),
        p_dispatcher);
    RETURN jsonb_build_object('done', cardinality(v_ended), 'fenced', jsonb_array_length(p_results) - cardinality(v_ended))
        || CASE WHEN v_followups > 0 THEN jsonb_build_object('followups', v_followups) ELSE '{}' END;
END $$;
