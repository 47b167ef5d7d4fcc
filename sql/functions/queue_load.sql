-- queue_load(): how many analyses wait, and the limits that backpressure holds them against. The number may be
-- queue_count_ms old: whoever finds it older counts anew, to max at most. While one counts, the others go on with the number
-- that there is, unless it is of another time (2 s older): then they count for themselves. Nobody waits.
-- Returns jsonb: queued (also those that wait for another attempt), max, warning_percent and overload_percent (of max,
-- from which requests are delayed and refused), delay_ms (the longest delay), crowded (cameras that had half of what they may
-- have, or more). Internal.
-- Locks: the row of queue_count, skipped if taken.
CREATE OR REPLACE FUNCTION camserver.queue_load() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_counted_at timestamptz;
    v_queued integer;
    v_crowded jsonb;
    v_max integer;
    v_camera_max integer;
    v_fresh_ms integer;
    v_limits jsonb;
    v_mine boolean;
BEGIN
    SELECT max(value) FILTER (WHERE name = 'ingest_queue_max'), max(value) FILTER (WHERE name = 'queue_count_ms'),
        max(value) FILTER (WHERE name = 'camera_queue_max'),
        jsonb_object_agg(replace(name, 'backpressure_', ''), value::numeric) FILTER (WHERE name LIKE 'backpressure_%')
    INTO STRICT v_max, v_fresh_ms, v_camera_max, v_limits FROM settings
    WHERE name IN ('ingest_queue_max', 'queue_count_ms', 'camera_queue_max', 'backpressure_warning_percent', 'backpressure_overload_percent',
        'backpressure_delay_ms');
    SELECT queued, crowded, counted_at INTO v_queued, v_crowded, v_counted_at FROM queue_count;
    IF v_counted_at <= v_now - v_fresh_ms * interval '1 ms' THEN
        PERFORM 1 FROM queue_count FOR UPDATE SKIP LOCKED;
        v_mine := FOUND;
        IF v_mine OR v_counted_at <= v_now - v_fresh_ms * interval '1 ms' - interval '2 seconds' THEN
            SELECT coalesce(sum(c.n), 0), coalesce(jsonb_agg(c.camera_id) FILTER (WHERE 2 * c.n >= v_camera_max), '[]')
            INTO v_queued, v_crowded FROM (
                SELECT w.camera_id, count(*) AS n FROM (
                    (SELECT j.camera_id FROM inference_jobs j WHERE j.status = 'queued' AND j.kind = 'analyze' LIMIT v_max)
                    UNION ALL
                    (SELECT j.camera_id FROM inference_jobs j WHERE j.status = 'waiting' AND j.kind = 'analyze' LIMIT v_max)) w
                GROUP BY w.camera_id) c;
        END IF;
        IF v_mine THEN
            UPDATE queue_count SET queued = v_queued, crowded = v_crowded, counted_at = v_now;
        END IF;
    END IF;
    RETURN v_limits || jsonb_build_object('queued', v_queued, 'max', v_max, 'crowded', v_crowded);
END $$;
