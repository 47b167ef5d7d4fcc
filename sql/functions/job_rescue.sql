-- job_rescue(): jobs whose dispatcher died, or that are past their own deadline, go back into the queue - or die, if
-- that was their last attempt: a frame that kills whoever touches it must not live for ever. Their tokens are void
-- from now on, and the permits of a dead dispatcher are free.
-- A job that completes at this very moment is locked by its completion and left alone.
-- Returns jsonb: count, more.
CREATE OR REPLACE FUNCTION camserver.job_rescue() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 1000;
    v_now timestamptz := clock_timestamp();
    v_silent timestamptz := v_now - make_interval(secs => setting_number('dispatcher_stale_sec')::float8);
    v_count integer;
    v_dead uuid[];
BEGIN
    WITH suspect AS MATERIALIZED (
        SELECT j.job_id, j.locked_token, j.locked_by, CASE WHEN j.deadline_at < v_now THEN 'the deadline passed'
                WHEN d.stopped_at IS NOT NULL THEN 'its dispatcher stopped' ELSE 'its dispatcher died' END AS why
        FROM inference_jobs j LEFT JOIN dispatchers d ON d.dispatcher_id = j.locked_by
        WHERE j.status = 'running' AND (j.deadline_at < v_now OR d.dispatcher_id IS NULL
            OR d.stopped_at IS NOT NULL OR d.last_heartbeat < v_silent)
        LIMIT c_batch
    ), lost AS MATERIALIZED ( -- fenced like everybody: claimed again meanwhile, it is another's
        SELECT j.job_id, s.locked_by, s.why FROM suspect s
        JOIN inference_jobs j ON j.job_id = s.job_id AND j.locked_token = s.locked_token AND j.status = 'running'
        FOR UPDATE OF j SKIP LOCKED
    ), given_back AS (
        UPDATE inference_jobs j SET
            status = CASE WHEN j.attempt >= j.max_attempt THEN 'dead' ELSE 'queued' END::job_status,
            finished_at = CASE WHEN j.attempt >= j.max_attempt THEN v_now END,
            last_error = format('attempt %s: %s', j.attempt, l.why),
            locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
        FROM lost l WHERE j.job_id = l.job_id
        RETURNING l.locked_by, l.why
    )
    SELECT count(*), array_agg(DISTINCT locked_by) FILTER (WHERE why <> 'the deadline passed') INTO v_count, v_dead
    FROM given_back;
    PERFORM permit_release(ARRAY(SELECT permit_id FROM permits WHERE holder = ANY (v_dead)));
    IF v_count > 0 THEN
        PERFORM job_wake();
    END IF;
    RETURN jsonb_build_object('count', v_count, 'more', v_count = c_batch);
END $$;
