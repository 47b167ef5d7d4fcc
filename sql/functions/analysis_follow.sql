-- analysis_follow(results, tokens, events): what follows the detections among the results, which are named by their tokens, in
-- the order of their frames: archive, notification, second opinion as the policy wants them, and the best of each camera
-- is offered as the suggestion. Internal, for analysis_complete(), which holds the cameras' locks and has written the
-- events and frames. Returns the jobs made. Locks: 'escalate', then 'suggest'.
CREATE OR REPLACE FUNCTION camserver.analysis_follow(p_results jsonb, p_tokens bigint[], p_events bigint[]) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_item record;
    v_offers jsonb := '{}'; -- by camera
    v_followups integer := 0;
BEGIN
    FOR v_item IN
        SELECT DISTINCT ON (t.n) r.*, t.event_id, j.camera_id, j.frame_id
        FROM unnest(p_tokens, p_events) WITH ORDINALITY AS t (token, event_id, n)
        JOIN jsonb_to_recordset(p_results) AS r (job_id bigint, token bigint, primary_event text, severity smallint,
            suggest_score numeric, hazard boolean, archive boolean, escalate boolean, notify_rule text) USING (token)
        JOIN inference_jobs j USING (job_id)
        ORDER BY t.n
    LOOP
        IF v_item.archive OR v_item.escalate OR v_item.notify_rule IS NOT NULL THEN
            v_followups := v_followups + followup_queue(v_item.camera_id, v_item.event_id, v_item.frame_id, v_item.primary_event,
                v_item.severity, v_item.archive, v_item.notify_rule, v_item.escalate);
        END IF;
        IF v_item.suggest_score > coalesce((v_offers->v_item.camera_id->>'score')::numeric, 0) THEN
            v_offers := v_offers || jsonb_build_object(v_item.camera_id, jsonb_build_object('score', v_item.suggest_score,
                'hazard', coalesce(v_item.hazard, false), 'reason', v_item.primary_event));
        END IF;
    END LOOP;
    PERFORM suggest_offer(o.key, (o.value->>'score')::numeric, (o.value->>'hazard')::boolean, o.value->>'reason')
    FROM (SELECT key, value FROM jsonb_each(v_offers) ORDER BY key) o;
    RETURN v_followups;
END $$;
