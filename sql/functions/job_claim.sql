-- job_claim(kind, dispatcher, n, model, calls, awake): what job_take() takes, under the limits of the model if there is one of
-- that name; then at most p_calls, since who holds a permit should be about to call. pool: the worker pool that the model
-- names. A dispatcher for which there was no job is marked idle, so that the next job wakes it; the mark goes when it gets jobs
-- while it is awake, which is to say that it got some with its last claim, too: whom a single job has woken claims twice, and
-- neither time the mark is written.
CREATE OR REPLACE FUNCTION camserver.job_claim(p_kind camserver.job_kind, p_dispatcher uuid, p_n integer,
    p_model text DEFAULT NULL, p_calls integer DEFAULT NULL, p_awake boolean DEFAULT true)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text, captured_at text,
    permit uuid, wait_ms integer, pool text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_model models;
BEGIN
    IF p_model IS NOT NULL THEN
        SELECT * INTO v_model FROM models WHERE model = p_model;
    END IF;
    RETURN QUERY SELECT t.*, v_model.pool FROM job_take(p_kind, p_dispatcher,
        CASE WHEN v_model.model IS NULL THEN p_n ELSE least(p_n, p_calls) END, v_model.model, p_awake) t;
END $$;
