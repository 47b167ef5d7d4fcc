-- job_complete(jobs, tokens, kinds): these jobs are done, all in one go: those that still run with the token that stands
-- in the same place. The others are somebody else's by now and stay as they are. Internal, for whatever completes jobs;
-- with nothing else to write it is all that a job costs (bench/run kernel). Returns what it ended.
-- Locks: the jobs, ascending.
CREATE OR REPLACE FUNCTION camserver.job_complete(p_jobs bigint[], p_tokens bigint[], p_kinds camserver.job_kind[])
RETURNS TABLE (job_id bigint, token bigint, frame_id bigint, camera_id text, captured_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE inference_jobs j SET status = 'done', finished_at = v_now, last_error = NULL,
        locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
    FROM (SELECT * FROM unnest(p_jobs, p_tokens) AS t (job_id, token) ORDER BY t.job_id) t
    WHERE j.job_id = t.job_id AND j.locked_token = t.token AND j.status = 'running' AND j.kind = ANY (p_kinds)
    RETURNING j.job_id, t.token, j.frame_id, j.camera_id, j.captured_at;
END $$;
