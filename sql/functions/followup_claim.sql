-- followup_claim(dispatcher, archive, notify, escalate): take up to so many jobs of each kind of follow-up, as job_claim()
-- does, with what is needed to do them. Undelivered notifications that have grown old become one summary here.
CREATE OR REPLACE FUNCTION camserver.followup_claim(p_dispatcher uuid, p_archive integer, p_notify integer, p_escalate integer)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text,
    captured_at text, kind camserver.job_kind, facts jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_taken bigint[] := '{}';
    v_notify bigint[];
    v_job bigint;
BEGIN
    IF p_archive > 0 THEN
        v_taken := ARRAY(SELECT t.job_id FROM job_take('archive', p_dispatcher, p_archive) t);
    END IF;
    IF p_escalate > 0 THEN
        v_taken := v_taken || ARRAY(SELECT t.job_id FROM job_take('escalate', p_dispatcher, p_escalate) t);
    END IF;
    IF p_notify > 0 THEN
        v_notify := ARRAY(SELECT t.job_id FROM job_take('notify', p_dispatcher, p_notify) t);
        FOREACH v_job IN ARRAY v_notify LOOP
            PERFORM notify_summarise(v_job, v_notify);
        END LOOP;
        v_taken := v_taken || v_notify;
    END IF;
    RETURN QUERY
    SELECT j.job_id, j.locked_token, j.attempt::integer, j.max_attempt::integer, f.frame_uuid, j.camera_id,
        rfc3339(j.captured_at), j.kind, followup_facts(j.job_id)
    FROM inference_jobs j LEFT JOIN frames f ON f.frame_id = j.frame_id
    WHERE j.job_id = ANY (v_taken) AND j.status = 'running'
    ORDER BY j.job_id;
END $$;
