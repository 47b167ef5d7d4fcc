-- history_record(): the rows of minute_history of this minute so far, and of those since the last call, at most an hour.
-- Series, a minute each: jobs_done.KIND, jobs_dead.KIND, job_p95_sec.KIND (from creation to done), calls.OUTCOME (model
-- calls that ended); and as it stands at the end of the minute: queue_depth (queued and waiting, counted up to 100000),
-- queue_age_sec of the oldest, refused.REASON (since counting began).
-- Returns jsonb: count of rows, more false. Locks: its rows.
CREATE OR REPLACE FUNCTION camserver.history_record() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_depth CONSTANT integer := 100000;
    v_now timestamptz := clock_timestamp();
    v_this timestamptz := date_trunc('minute', v_now);
    v_from timestamptz := greatest(v_this - interval '1 hour',
        (SELECT coalesce(max(minute), v_this - interval '1 hour') FROM minute_history));
    v_count integer;
BEGIN
    INSERT INTO minute_history (minute, series, value)
    SELECT date_trunc('minute', j.finished_at), 'jobs_done.' || j.kind, count(*) FROM inference_jobs j
    WHERE j.status = 'done' AND j.status IN ('done', 'cancelled') AND j.finished_at >= v_from GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('minute', j.finished_at), 'job_p95_sec.' || j.kind,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM j.finished_at - j.created_at)) FROM inference_jobs j
    WHERE j.status = 'done' AND j.status IN ('done', 'cancelled') AND j.finished_at >= v_from GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('minute', j.finished_at), 'jobs_dead.' || j.kind, count(*) FROM inference_jobs j
    WHERE j.status = 'dead' AND j.finished_at >= v_from GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('minute', c.ended_at), 'calls.' || c.outcome, count(*) FROM permit_calls c
    WHERE c.ended_at >= v_from GROUP BY 1, 2
    UNION ALL
    SELECT v_this, 'queue_depth', count(*) FROM (
        (SELECT 1 FROM inference_jobs WHERE status = 'queued' ORDER BY kind, priority DESC, job_id LIMIT c_depth)
        UNION ALL
        (SELECT 1 FROM inference_jobs WHERE status = 'waiting' ORDER BY available_at LIMIT c_depth)) q
    UNION ALL
    SELECT v_this, 'queue_age_sec', coalesce(extract(epoch FROM v_now - min(created_at)), 0) FROM (
        (SELECT created_at FROM inference_jobs WHERE status = 'queued' ORDER BY kind, priority DESC, job_id LIMIT c_depth)
        UNION ALL
        (SELECT created_at FROM inference_jobs WHERE status = 'waiting' ORDER BY available_at LIMIT c_depth)) q
    UNION ALL
    SELECT v_this, 'refused.' || r.reason, r.refused FROM refusal_counts() r
    ON CONFLICT (minute, series) DO UPDATE SET value = excluded.value;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN jsonb_build_object('count', v_count, 'more', false);
END $$;
