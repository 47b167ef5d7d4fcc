-- job_front(kind, n, due, age): makes the front of the queue what it should be before a claim of n takes from it. With p_due jobs
-- whose waiting time is over come back into the queue. Analyses of frames that are older than p_age seconds (job_max_age_sec; 0:
-- any age) are cancelled, with the reason, until the front is fresh. Internal, for job_take(). Never waits: SKIP LOCKED.
CREATE OR REPLACE FUNCTION camserver.job_front(p_kind camserver.job_kind, p_n integer, p_due boolean, p_age numeric) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_dropped integer := 1;
    v_rounds integer := 0;
BEGIN
    IF p_due THEN
        UPDATE inference_jobs SET status = 'queued' WHERE job_id IN (
            SELECT j.job_id FROM inference_jobs j WHERE j.status = 'waiting' AND j.available_at <= v_now
            ORDER BY j.available_at LIMIT greatest(p_n, 100) FOR UPDATE SKIP LOCKED);
    END IF;
    WHILE p_age > 0 AND p_kind = 'analyze' AND v_dropped > 0 AND v_rounds < 100 LOOP
        WITH front AS MATERIALIZED (
            SELECT j.job_id, j.captured_at FROM inference_jobs j
            WHERE j.status = 'queued' AND j.kind = p_kind
            ORDER BY j.priority DESC, j.job_id LIMIT greatest(p_n, 100) FOR UPDATE SKIP LOCKED
        )
        UPDATE inference_jobs j SET status = 'cancelled', finished_at = v_now,
            last_error = format('stale: the frame was %s s old, job_max_age_sec is %s',
                round(extract(epoch FROM v_now - j.captured_at)), p_age)
        FROM front f WHERE j.job_id = f.job_id AND f.captured_at < v_now - make_interval(secs => p_age::float8);
        GET DIAGNOSTICS v_dropped = ROW_COUNT;
        v_rounds := v_rounds + 1;
    END LOOP;
END $$;
