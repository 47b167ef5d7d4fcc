-- followup_queue(camera, event, frame, primary_event, severity, archive, notify_rule, escalate): queue what the policy
-- wants done about a frame that was just analysed. Without an event there is nothing to do. Internal, for
-- analysis_complete(), which holds the camera's lock. Returns the jobs made.
CREATE OR REPLACE FUNCTION camserver.followup_queue(p_camera text, p_event bigint, p_frame bigint, p_primary_event text,
    p_severity smallint, p_archive boolean, p_notify_rule text, p_escalate boolean) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_jobs integer := 0;
BEGIN
    IF p_event IS NULL THEN
        RETURN 0;
    END IF;
    IF p_archive THEN
        PERFORM archive_queue(p_frame);
        v_jobs := v_jobs + 1;
    END IF;
    IF p_notify_rule IS NOT NULL THEN
        v_jobs := v_jobs + notify_decide(p_camera, p_event, p_frame, p_primary_event, p_severity, p_notify_rule);
    END IF;
    IF p_escalate THEN
        v_jobs := v_jobs + escalate_decide(p_camera, p_event, p_frame);
    END IF;
    RETURN v_jobs;
END $$;
