-- job_take(kind, dispatcher, n): take up to n jobs that may run now, highest priority first, then oldest. Each gets
-- a token that was never given before; every later write for the job must carry it. Jobs whose waiting time is over
-- come back into the queue first. With job_max_age_sec set, analyses of older frames are cancelled, with the reason.
-- Internal, for the claims. Never waits: SKIP LOCKED.
CREATE OR REPLACE FUNCTION camserver.job_take(p_kind camserver.job_kind, p_dispatcher uuid, p_n integer)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text, captured_at text)
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_deadline timestamptz := v_now + make_interval(
        secs => setting_number('job_deadline_sec')::float8 * CASE p_kind WHEN 'analyze' THEN 1 ELSE 3 END);
    v_age numeric := setting_number('job_max_age_sec');
    v_dropped integer := 1;
    v_rounds integer := 0;
BEGIN
    UPDATE inference_jobs SET status = 'queued' WHERE job_id IN (
        SELECT j.job_id FROM inference_jobs j WHERE j.status = 'waiting' AND j.available_at <= v_now
        ORDER BY j.available_at LIMIT greatest(p_n, 100) FOR UPDATE SKIP LOCKED);

    -- Of what would be claimed, the too old goes first, until the front of the queue is fresh.
    WHILE v_age > 0 AND p_kind = 'analyze' AND v_dropped > 0 AND v_rounds < 100 LOOP
        WITH front AS MATERIALIZED (
            SELECT j.job_id, j.captured_at FROM inference_jobs j
            WHERE j.status = 'queued' AND j.kind = p_kind
            ORDER BY j.priority DESC, j.job_id LIMIT greatest(p_n, 100) FOR UPDATE SKIP LOCKED
        )
        UPDATE inference_jobs j SET status = 'cancelled', finished_at = v_now,
            last_error = format('stale: the frame was %s s old, job_max_age_sec is %s',
                round(extract(epoch FROM v_now - j.captured_at)), v_age)
        FROM front f WHERE j.job_id = f.job_id AND f.captured_at < v_now - make_interval(secs => v_age::float8);
        GET DIAGNOSTICS v_dropped = ROW_COUNT;
        v_rounds := v_rounds + 1;
    END LOOP;

    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT j.job_id FROM inference_jobs j
        WHERE j.status = 'queued' AND j.kind = p_kind
        ORDER BY j.priority DESC, j.job_id LIMIT p_n FOR UPDATE SKIP LOCKED
    ), claimed AS (
        UPDATE inference_jobs j SET status = 'running', attempt = j.attempt + 1, locked_by = p_dispatcher,
            locked_token = nextval('job_token_seq'), locked_at = v_now, deadline_at = v_deadline
        FROM picked p WHERE j.job_id = p.job_id
        RETURNING j.job_id, j.locked_token, j.attempt, j.max_attempt, j.frame_id, j.camera_id, j.captured_at, j.priority
    )
    SELECT c.job_id, c.locked_token, c.attempt::integer, c.max_attempt::integer, f.frame_uuid, c.camera_id, rfc3339(c.captured_at)
    FROM claimed c LEFT JOIN frames f ON f.frame_id = c.frame_id
    ORDER BY c.priority DESC, c.job_id;
END $$;
