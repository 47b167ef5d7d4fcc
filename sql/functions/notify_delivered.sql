-- notify_delivered(notification): it arrived. Internal: the caller holds the camera's lock. The camera's next one gets going.
CREATE OR REPLACE FUNCTION camserver.notify_delivered(p_notification bigint) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_this notifications%ROWTYPE;
BEGIN
    UPDATE notifications SET state = 'sent', reason = NULL, sent_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE notification_id = p_notification AND state = 'sending' RETURNING * INTO v_this;
    IF v_this.camera_id IS NOT NULL THEN
        PERFORM notify_promote(v_this.channel_id, v_this.camera_id);
    END IF;
END $$;
