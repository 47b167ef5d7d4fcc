-- notify_summarise(job, claimed): a claimed notification that is older than notify_stale_sec is not told alone if others of
-- its channel are as old: they become one summary, which this job delivers; or it joins a summary that has not gone
-- out, and its job is done; while one is just being made or delivered, it waits for what comes of that. claimed: all jobs of
-- this claim, whose texts nobody has read yet. Internal, for
-- followup_claim(). Never waits: what somebody else has locked stays out of it. Locks: 'summary' of the channel, if it is free.
CREATE OR REPLACE FUNCTION camserver.notify_summarise(p_job bigint, p_claimed bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - make_interval(secs => setting_number('notify_stale_sec')::float8);
    v_this notifications%ROWTYPE;
    v_told bigint[];
    v_summary bigint;
    v_free boolean;
BEGIN
    SELECT n.* INTO v_this FROM inference_jobs j JOIN notifications n ON n.notification_id = j.ref_id
    WHERE j.job_id = p_job AND j.status = 'running' AND n.kind = 'event' AND n.state = 'sending' AND n.updated_at < v_before;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_told := ARRAY[v_this.notification_id];

    v_free := pg_try_advisory_xact_lock(lock_class('summary'), v_this.channel_id);
    SELECT s.notification_id INTO v_summary FROM notifications s JOIN inference_jobs j ON j.job_id = s.job_id
    WHERE v_free AND s.channel_id = v_this.channel_id AND s.camera_id IS NULL AND s.kind = 'summary' AND s.state = 'sending'
      AND (j.status IN ('queued', 'waiting') OR j.job_id = ANY (p_claimed))
    LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    -- Another claim is making one just now, or has taken it, or one is being delivered: it is not to become two.
    IF v_summary IS NULL AND (NOT v_free OR EXISTS (SELECT 1 FROM notifications s WHERE s.channel_id = v_this.channel_id
            AND s.camera_id IS NULL AND s.kind = 'summary' AND s.state = 'sending')) THEN
        UPDATE inference_jobs SET status = 'waiting', available_at = v_now + interval '1 s', attempt = attempt - 1,
            locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
        WHERE job_id = p_job;
        RETURN;
    END IF;
    IF v_summary IS NULL THEN
        v_told := v_told || ARRAY(
            SELECT n.notification_id FROM notifications n LEFT JOIN inference_jobs j ON j.job_id = n.job_id
            WHERE n.channel_id = v_this.channel_id AND n.state IN ('pending', 'sending') AND n.kind = 'event'
              AND n.updated_at < v_before AND n.notification_id <> v_this.notification_id
              AND (n.state = 'pending' OR j.status IN ('queued', 'waiting') OR j.job_id = ANY (p_claimed))
            ORDER BY n.notification_id FOR UPDATE OF n SKIP LOCKED);
        -- A job that somebody is claiming right now tells its own.
        v_told := ARRAY(SELECT t FROM unnest(v_told) t JOIN notifications n ON n.notification_id = t
            WHERE n.state = 'pending' OR n.job_id IN (SELECT j.job_id FROM inference_jobs j
                WHERE j.job_id = n.job_id AND (j.status IN ('queued', 'waiting') OR j.job_id = ANY (p_claimed)) FOR UPDATE SKIP LOCKED));
        IF cardinality(v_told) < 2 THEN
            RETURN;
        END IF;
        INSERT INTO notifications (channel_id, kind, state, severity, job_id, created_at, updated_at)
        VALUES (v_this.channel_id, 'summary', 'sending', v_this.severity, p_job, v_now, v_now)
        RETURNING notification_id INTO v_summary;
        UPDATE inference_jobs SET ref_id = v_summary, camera_id = '', frame_id = NULL WHERE job_id = p_job;
    END IF;
    UPDATE notifications SET state = 'summarised', reason = 'stale', summary_id = v_summary, updated_at = v_now
    WHERE notification_id = ANY (v_told);
    UPDATE notifications SET severity = greatest(severity, (SELECT max(severity) FROM notifications WHERE notification_id = ANY (v_told)))
    WHERE notification_id = v_summary;
    UPDATE inference_jobs j SET status = 'cancelled', finished_at = v_now, last_error = 'told in a summary',
        locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
    FROM notifications n
    WHERE n.notification_id = ANY (v_told) AND j.job_id = n.job_id AND j.ref_id = n.notification_id
      AND j.status IN ('queued', 'waiting', 'running');
END $$;
