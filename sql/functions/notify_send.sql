-- notify_send(channel, kind, facts): queue a message that is no event's: a daily summary or a test. Internal.
-- Returns the notification.
CREATE OR REPLACE FUNCTION camserver.notify_send(p_channel integer, p_kind text, p_facts jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_notification bigint;
    v_job bigint;
BEGIN
    INSERT INTO notifications (channel_id, kind, state, facts, created_at, updated_at)
    VALUES (p_channel, p_kind, 'sending', p_facts, v_now, v_now) RETURNING notification_id INTO v_notification;
    INSERT INTO inference_jobs (kind, camera_id, ref_id, captured_at, max_attempt, created_at, available_at)
    VALUES ('notify', '', v_notification, v_now, setting_number('notify_max_attempt'), v_now, v_now) RETURNING job_id INTO v_job;
    UPDATE notifications SET job_id = v_job WHERE notification_id = v_notification;
    PERFORM job_wake();
    RETURN v_notification;
END $$;
