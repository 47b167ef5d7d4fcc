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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz;
    v_lock integer;
    v_item record;
    v_frame bigint;
    v_event bigint;
    v_case text;
    v_followups integer := 0;
    v_done integer := 0;
    v_fenced integer := 0;
    v_offers jsonb := '{}'; -- the best of each camera
    v_offer record;
    v_permits uuid[] := '{}';
BEGIN
    FOR v_lock IN
        SELECT DISTINCT c.lock_id
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint) JOIN inference_jobs j USING (job_id) JOIN cameras c USING (camera_id)
        ORDER BY c.lock_id
    LOOP
        PERFORM pg_advisory_xact_lock(lock_class('camera'), v_lock);
    END LOOP;
    v_now := clock_timestamp();

    FOR v_item IN
        SELECT r.*, j.camera_id, j.captured_at, j.frame_id
        FROM jsonb_to_recordset(p_results) AS r (job_id bigint, token bigint, result jsonb, schema_version text,
            detected boolean, primary_event text, unknown_flag boolean, severity smallint, confidence real,
            count_hint integer, blur_score real, tags jsonb, retention_class retention_class, retention_reason text,
            best_score double precision, suggest_score numeric, hazard boolean, archive boolean, escalate boolean,
            notify_rule text, permit uuid)
        LEFT JOIN inference_jobs j USING (job_id)
        ORDER BY j.camera_id, j.captured_at, j.job_id
    LOOP
        IF v_item.permit IS NOT NULL THEN
            v_permits := v_permits || v_item.permit;
        END IF;
        UPDATE inference_jobs j SET status = 'done', finished_at = v_now, last_error = NULL,
            locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
        WHERE j.job_id = v_item.job_id AND j.locked_token = v_item.token AND j.status = 'running' AND j.kind = 'analyze';
        IF NOT FOUND THEN
            v_fenced := v_fenced + 1;
            CONTINUE;
        END IF;

        v_event := NULL;
        v_case := NULL;
        IF v_item.detected THEN
            v_event := event_apply(v_item.camera_id, v_item.frame_id, v_item.captured_at, v_item.primary_event, v_item.severity,
                v_item.confidence, v_item.best_score, v_item.retention_class, v_item.retention_reason);
            SELECT case_id INTO v_case FROM events WHERE event_id = v_event;
        END IF;
        UPDATE frames SET analyzed = true, analyzed_at = v_now, detected = v_item.detected,
            primary_event = v_item.primary_event, unknown_flag = v_item.unknown_flag, severity = v_item.severity,
            confidence = v_item.confidence, count_hint = v_item.count_hint, blur_score = v_item.blur_score,
            result_json = v_item.result, tags_json = v_item.tags, event_id = v_event,
            retention_class = CASE WHEN v_case IS NULL THEN v_item.retention_class ELSE 'case' END,
            retention_reason = CASE WHEN v_case IS NULL THEN v_item.retention_reason ELSE 'case' END,
            retention_before = CASE WHEN v_case IS NOT NULL THEN
                jsonb_build_object('class', v_item.retention_class, 'reason', v_item.retention_reason) END
        WHERE frame_id = v_item.frame_id;

        DELETE FROM frame_tags WHERE frame_id = v_item.frame_id;
        INSERT INTO frame_tags (frame_id, tag_id, tag_group)
        SELECT v_item.frame_id, t.tag_id, coalesce(s.tag_group, split_part(t.tag_id, '.', 1))
        FROM (SELECT DISTINCT jsonb_array_elements_text(v_item.tags) AS tag_id) t
        LEFT JOIN schema_tags s ON s.schema_version = v_item.schema_version AND s.tag_id = t.tag_id;
        IF v_event IS NOT NULL THEN
            INSERT INTO event_tags (event_id, tag_id, tag_group)
            SELECT v_event, t.tag_id, t.tag_group FROM frame_tags t WHERE t.frame_id = v_item.frame_id
            ON CONFLICT DO NOTHING;
        END IF;
        v_followups := v_followups + followup_queue(v_item.camera_id, v_event, v_item.frame_id, v_item.primary_event,
            v_item.severity, v_item.archive, v_item.notify_rule, v_item.escalate);
        IF v_item.detected AND v_item.suggest_score > coalesce((v_offers->v_item.camera_id->>'score')::numeric, 0) THEN
            v_offers := v_offers || jsonb_build_object(v_item.camera_id, jsonb_build_object('score', v_item.suggest_score,
                'hazard', coalesce(v_item.hazard, false), 'reason', v_item.primary_event));
        END IF;
        v_done := v_done + 1;
    END LOOP;

    FOR v_offer IN SELECT key AS camera_id, value FROM jsonb_each(v_offers) ORDER BY key LOOP
        PERFORM suggest_offer(v_offer.camera_id, (v_offer.value->>'score')::numeric, (v_offer.value->>'hazard')::boolean,
            v_offer.value->>'reason');
    END LOOP;
    PERFORM permit_release(v_permits, p_dispatcher);
    RETURN jsonb_build_object('done', v_done, 'fenced', v_fenced)
        || CASE WHEN v_followups > 0 THEN jsonb_build_object('followups', v_followups) ELSE '{}' END;
END $$;
