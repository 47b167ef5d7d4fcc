-- job_retry(job): a dead, cancelled or waiting job may run now, with all its attempts again. Returns jsonb: outcome OK, UNKNOWN_JOB, or
-- JOB_STATE with the status that forbids it. Locks: the job's row.
CREATE OR REPLACE FUNCTION camserver.job_retry(p_job bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_status job_status;
BEGIN
    SELECT status INTO v_status FROM inference_jobs WHERE job_id = p_job FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_JOB');
    ELSIF v_status NOT IN ('dead', 'cancelled', 'waiting') THEN
        RETURN jsonb_build_object('outcome', 'JOB_STATE', 'status', v_status);
    END IF;
    UPDATE inference_jobs SET status = 'queued', attempt = 0, available_at = clock_timestamp(), finished_at = NULL
    WHERE job_id = p_job;
    PERFORM job_wake();
    PERFORM audit_note('job.retry', p_job::text, jsonb_build_object('status', v_status), jsonb_build_object('status', 'queued'));
    RETURN jsonb_build_object('outcome', 'OK', 'job_id', p_job, 'status', 'queued');
END $$;
