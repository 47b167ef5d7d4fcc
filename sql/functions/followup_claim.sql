-- followup_claim(dispatcher, archive, notify, escalate, llm_model): take up to so many jobs of each kind of follow-up, as
-- job_claim() does, with what is needed to do them; escalations under the limits of the model, if there is one of that name:
-- then facts has "llm", where it is called (upstream_name, base_url, api_key_file, pool), and a row without a job has
-- "wait_ms" in its facts, as job_take() tells it. Undelivered notifications that have grown old become one summary here.
CREATE OR REPLACE FUNCTION camserver.followup_claim(p_dispatcher uuid, p_archive integer, p_notify integer, p_escalate integer,
    p_llm_model text DEFAULT NULL)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text,
    captured_at text, kind camserver.job_kind, facts jsonb, permit uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_taken bigint[] := '{}';
    v_notify bigint[];
    v_job bigint;
    v_permits jsonb := '{}';
    v_wait_ms integer;
    v_llm jsonb;
BEGIN
    IF p_archive > 0 THEN
        v_taken := ARRAY(SELECT t.job_id FROM job_take('archive', p_dispatcher, p_archive) t);
    END IF;
    IF p_notify > 0 THEN
        v_notify := ARRAY(SELECT t.job_id FROM job_take('notify', p_dispatcher, p_notify) t);
        FOREACH v_job IN ARRAY v_notify LOOP
            PERFORM notify_summarise(v_job, v_notify);
        END LOOP;
        v_taken := v_taken || v_notify;
    END IF;
    IF p_escalate > 0 THEN
        SELECT v_taken || coalesce(array_agg(t.job_id) FILTER (WHERE t.job_id IS NOT NULL), '{}'),
            coalesce(jsonb_object_agg(t.job_id, t.permit) FILTER (WHERE t.job_id IS NOT NULL), '{}'), max(t.wait_ms)
        INTO v_taken, v_permits, v_wait_ms FROM job_take('escalate', p_dispatcher, p_escalate, p_llm_model) t;
        SELECT jsonb_build_object('llm', jsonb_build_object('upstream_name', m.upstream_name, 'base_url', p.base_url,
            'api_key_file', p.api_key_file, 'pool', m.pool)) INTO v_llm
        FROM models m JOIN providers p USING (provider_id) WHERE m.model = p_llm_model;
    END IF;
    RETURN QUERY
    SELECT j.job_id, j.locked_token, j.attempt::integer, j.max_attempt::integer, f.frame_uuid, j.camera_id,
        rfc3339(j.captured_at), j.kind, followup_facts(j.job_id)
            || CASE WHEN j.kind = 'escalate' THEN coalesce(v_llm, '{}') ELSE '{}' END, (v_permits->>(j.job_id::text))::uuid
    FROM inference_jobs j LEFT JOIN frames f ON f.frame_id = j.frame_id
    WHERE j.job_id = ANY (v_taken) AND j.status = 'running'
    ORDER BY j.job_id;
    IF v_wait_ms IS NOT NULL THEN
        kind := 'escalate';
        facts := jsonb_build_object('wait_ms', v_wait_ms);
        RETURN NEXT;
    END IF;
END $$;
