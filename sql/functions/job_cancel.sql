-- job_cancel(job): this job is not to be done any more. One that runs is fenced off: its result will be refused.
-- Returns jsonb: outcome OK, UNKNOWN_JOB, or JOB_STATE for one that is done or cancelled. Locks: the job's row.
CREATE OR REPLACE FUNCTION camserver.job_cancel(p_job bigint, p_reason text DEFAULT 'cancelled by an operator') RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_status job_status;
BEGIN
    SELECT status INTO v_status FROM inference_jobs WHERE job_id = p_job FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_JOB');
    ELSIF v_status IN ('done', 'cancelled') THEN
        RETURN jsonb_build_object('outcome', 'JOB_STATE', 'status', v_status);
    END IF;
    UPDATE inference_jobs SET status = 'cancelled', finished_at = clock_timestamp(), last_error = p_reason,
        locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
    WHERE job_id = p_job;
    PERFORM audit_note('job.cancel', p_job::text, jsonb_build_object('status', v_status), jsonb_build_object('status', 'cancelled'));
    RETURN jsonb_build_object('outcome', 'OK', 'job_id', p_job, 'status', 'cancelled');
END $$;
