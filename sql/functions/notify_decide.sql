-- notify_decide(camera, event, frame, primary_event, severity, rule): a frame that somebody is to be told of, by this
-- rule. For each channel: taken into a notification of the same camera and kind that has not gone out; or suppressed by
-- a cooldown, which is recorded; or queued. Internal: the caller holds the camera's lock. Returns the jobs made.
CREATE OR REPLACE FUNCTION camserver.notify_decide(
    p_camera text, p_event bigint, p_frame bigint, p_primary_event text, p_severity smallint, p_rule text) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_channel integer;
    v_open notifications%ROWTYPE;
    v_reason text;
    v_jobs integer := 0;
BEGIN
    FOR v_channel IN SELECT channel_id FROM channels WHERE enabled AND p_severity >= min_severity ORDER BY channel_id LOOP
        SELECT * INTO v_open FROM notifications
        WHERE channel_id = v_channel AND camera_id = p_camera AND state IN ('pending', 'sending') AND primary_event = p_primary_event
        ORDER BY notification_id DESC LIMIT 1;
        IF v_open.state = 'sending' THEN -- not any more once its text is being delivered
            PERFORM 1 FROM inference_jobs WHERE job_id = v_open.job_id AND status IN ('queued', 'waiting') FOR UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                v_open := NULL;
            END IF;
        END IF;
        UPDATE notifications SET count = count + 1, updated_at = v_now, event_id = p_event,
            frame_id = CASE WHEN p_severity >= severity THEN p_frame ELSE frame_id END,
            rule = CASE WHEN p_severity > severity THEN p_rule ELSE rule END,
            severity = greatest(severity, p_severity)
        WHERE notification_id = v_open.notification_id AND state = v_open.state;
        IF FOUND THEN -- the job's frame is the picture that goes along
            UPDATE inference_jobs SET frame_id = p_frame
            WHERE job_id = v_open.job_id AND v_open.state = 'sending' AND p_severity >= v_open.severity;
            CONTINUE;
        END IF;

        v_reason := notify_cooldown(v_channel, p_camera, p_primary_event, p_severity);
        IF v_reason IS NOT NULL THEN
            UPDATE notifications SET count = count + 1, updated_at = v_now, severity = greatest(severity, p_severity)
            WHERE event_id = p_event AND channel_id = v_channel AND state = 'suppressed' AND reason = v_reason;
            CONTINUE WHEN FOUND;
        END IF;
        INSERT INTO notifications (channel_id, state, reason, camera_id, event_id, frame_id, primary_event, severity, rule,
            created_at, updated_at)
        VALUES (v_channel, CASE WHEN v_reason IS NULL THEN 'pending' ELSE 'suppressed' END, v_reason, p_camera, p_event, p_frame,
            p_primary_event, p_severity, p_rule, v_now, v_now);
        v_jobs := v_jobs + notify_promote(v_channel, p_camera);
    END LOOP;
    RETURN v_jobs;
END $$;
