-- sweep_run(dispatcher): do the one piece of periodic work that is most overdue, if any is. However many
-- dispatchers call, each piece is done by one of them: the sweep's row stays locked while it runs. A sweep that
-- fails is noted with its error and tried again at its next time; the others go on.
-- Returns jsonb: name, count, more (call again now), error; or {} when nothing is due.
CREATE OR REPLACE FUNCTION camserver.sweep_run(p_dispatcher uuid DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_start timestamptz := clock_timestamp();
    v_sweep sweeps%ROWTYPE;
    v_result jsonb;
    v_error text;
BEGIN
    SELECT * INTO v_sweep FROM sweeps WHERE next_run_at <= v_start
    ORDER BY next_run_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN '{}';
    END IF;
    BEGIN
        v_result := CASE v_sweep.name
            WHEN 'leases' THEN lease_sweep()
            WHEN 'sessions' THEN session_sweep()
            WHEN 'admission_metrics' THEN metrics_record()
            WHEN 'history' THEN history_record()
            WHEN 'jobs' THEN job_rescue()
            WHEN 'events' THEN event_close_stale()
            WHEN 'notifications' THEN notify_sweep()
            WHEN 'daily_summaries' THEN notify_daily()
            WHEN 'expired_rows' THEN rows_expire()
            WHEN 'permits' THEN permit_expire()
            WHEN 'pools' THEN pool_reap()
            WHEN 'prune' THEN prune()
            WHEN 'usage' THEN jsonb_build_object('count', usage_recount(), 'more', false) END;
        IF v_result IS NULL THEN
            RAISE EXCEPTION 'no function does the sweep "%"', v_sweep.name;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        v_error := SQLERRM;
        v_result := jsonb_build_object('count', 0, 'more', false, 'error', v_error);
    END;
    UPDATE sweeps SET
        next_run_at = CASE WHEN (v_result->>'more')::boolean THEN v_start
            ELSE v_start + make_interval(secs => interval_sec) END,
        last_run_at = v_start, last_by = p_dispatcher, last_count = (v_result->>'count')::bigint,
        last_ms = extract(epoch FROM clock_timestamp() - v_start) * 1000, last_error = v_error
    WHERE name = v_sweep.name;
    RETURN v_result || jsonb_build_object('name', v_sweep.name);
END $$;
