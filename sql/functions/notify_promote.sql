-- notify_promote(channel, camera): if nothing of this camera is on its way to the channel, the oldest that waits gets
-- its job, unless a cooldown forbids it by now: then it is suppressed and the next one's turn has come. So a camera's
-- notifications arrive in order. Internal: the caller holds the camera's lock. Returns the number of jobs made.
CREATE OR REPLACE FUNCTION camserver.notify_promote(p_channel integer, p_camera text) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz;
    v_next notifications%ROWTYPE;
    v_reason text;
    v_job bigint;
BEGIN
    LOOP
        PERFORM 1 FROM notifications WHERE channel_id = p_channel AND camera_id = p_camera AND state = 'sending';
        IF FOUND THEN
            RETURN 0;
        END IF;
        SELECT * INTO v_next FROM notifications WHERE channel_id = p_channel AND camera_id = p_camera AND state = 'pending'
        ORDER BY notification_id LIMIT 1 FOR UPDATE;
        IF NOT FOUND THEN
            RETURN 0;
        END IF;
        v_now := clock_timestamp();
        v_reason := notify_cooldown(p_channel, p_camera, v_next.primary_event, v_next.severity);
        IF v_reason IS NOT NULL THEN
            UPDATE notifications SET state = 'suppressed', reason = v_reason, updated_at = v_now
            WHERE notification_id = v_next.notification_id;
            CONTINUE;
        END IF;
        INSERT INTO inference_jobs (kind, camera_id, frame_id, ref_id, captured_at, max_attempt, created_at, available_at)
        VALUES ('notify', p_camera, v_next.frame_id, v_next.notification_id, v_next.created_at,
            setting_number('notify_max_attempt'), v_now, v_now)
        RETURNING job_id INTO v_job;
        UPDATE notifications SET state = 'sending', job_id = v_job WHERE notification_id = v_next.notification_id;
        RETURN 1;
    END LOOP;
END $$;
