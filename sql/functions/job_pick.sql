-- job_pick(kind, n): lock up to n jobs that may run now, highest priority first, then oldest, and return their places (ctid) in
-- that order: a row that is locked does not move until the end of the transaction. Jobs whose waiting time is over come back
-- into the queue first. With job_max_age_sec set, analyses of older frames are cancelled, with the reason. Internal, for the
-- claims. Never waits: SKIP LOCKED.
CREATE OR REPLACE FUNCTION camserver.job_pick(p_kind camserver.job_kind, p_n integer) RETURNS tid[]
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_age numeric := CASE p_kind WHEN 'analyze' THEN setting_number('job_max_age_sec') ELSE 0 END;
    v_dropped integer := 1;
    v_rounds integer := 0;
BEGIN
    IF EXISTS (SELECT 1 FROM inference_jobs j WHERE j.status = 'waiting' AND j.available_at <= v_now) THEN
        UPDATE inference_jobs SET status = 'queued' WHERE job_id IN (
            SELECT j.job_id FROM inference_jobs j WHERE j.status = 'waiting' AND j.available_at <= v_now
            ORDER BY j.available_at LIMIT greatest(p_n, 100) FOR UPDATE SKIP LOCKED);
    END IF;

    -- Of what would be claimed, the too old goes first, until the front of the queue is fresh.
    WHILE v_age > 0 AND v_dropped > 0 AND v_rounds < 100 LOOP
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

    RETURN ARRAY(SELECT j.ctid FROM inference_jobs j WHERE j.status = 'queued' AND j.kind = p_kind
        ORDER BY j.priority DESC, j.job_id LIMIT p_n FOR UPDATE SKIP LOCKED);
END $$;
