-- analysis_follow(seen, jobs, events): what follows the detections, whose jobs are named in the order of their frames: archive,
-- notification, second opinion as the policy wants them, and the best of each camera is offered as the suggestion.
-- Internal, for analysis_detect(), which has written the events and frames. Returns the jobs made. Locks: 'escalate', then
-- 'suggest'.
CREATE OR REPLACE FUNCTION camserver.analysis_follow(p_seen jsonb, p_jobs bigint[], p_events bigint[]) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_item record;
    v_followups integer := 0;
BEGIN
    FOR v_item IN
        SELECT DISTINCT ON (t.n) r.*, t.event_id
        FROM unnest(p_jobs, p_events) WITH ORDINALITY AS t (job_id, event_id, n)
        JOIN jsonb_to_recordset(p_seen) AS r (job_id bigint, frame_id bigint, camera_id text, primary_event text, severity smallint,
            archive boolean, escalate boolean, notify_rule text) USING (job_id)
        WHERE r.archive OR r.escalate OR r.notify_rule IS NOT NULL
        ORDER BY t.n
    LOOP
        v_followups := v_followups + followup_queue(v_item.camera_id, v_item.event_id, v_item.frame_id, v_item.primary_event,
            v_item.severity, v_item.archive, v_item.notify_rule, v_item.escalate);
    END LOOP;
    PERFORM suggest_offer(o.camera_id, o.suggest_score, coalesce(o.hazard, false), o.primary_event)
    FROM (SELECT DISTINCT ON (r.camera_id) r.*
        FROM unnest(p_jobs) WITH ORDINALITY AS t (job_id, n)
        JOIN jsonb_to_recordset(p_seen) AS r (job_id bigint, camera_id text, primary_event text, suggest_score numeric, hazard boolean)
            USING (job_id)
        WHERE r.suggest_score > 0
        ORDER BY r.camera_id, r.suggest_score DESC, t.n) o;
    RETURN v_followups;
END $$;
