-- console_history(at): the hour before, minute by minute, for plots: minutes (RFC 3339) and, by name, as many numbers or
-- nulls. From admission_metrics: cpu, memory, units_used, modal_budget, viewers, requests and refusals (of leases, in the
-- minute); from minute_history: all its series but refused.*, which are in refused: by reason, how many in the hour.
-- Returns jsonb. Internal. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.console_history(p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp AS $$
DECLARE
    v_last timestamptz := date_trunc('minute', p_at);
    v_first timestamptz := v_last - interval '59 minutes';
    v_minutes jsonb;
    v_admission jsonb;
    v_series jsonb;
    v_refused jsonb;
BEGIN
    WITH minutes AS (
        SELECT m FROM generate_series(v_first, v_last, interval '1 minute') m
    ), measured AS (
        SELECT date_trunc('minute', a.recorded_at) AS m, round(avg(a.cpu_percent), 1) AS cpu, round(avg(a.memory_percent), 1) AS memory,
            max(a.units_used) AS units_used, max(a.modal_budget) AS modal_budget, max(a.active_ui_users) AS viewers,
            max(a.requests_total) AS requests_total, max(a.rejections_total) AS rejections_total
        FROM admission_metrics a WHERE a.recorded_at >= v_first - interval '1 minute' GROUP BY 1
    ), counted AS (
        SELECT *, greatest(0, requests_total - lag(requests_total) OVER (ORDER BY m)) AS requests,
            greatest(0, rejections_total - lag(rejections_total) OVER (ORDER BY m)) AS refusals FROM measured
    )
    SELECT jsonb_agg(rfc3339(n.m) ORDER BY n.m), jsonb_build_object('cpu', jsonb_agg(c.cpu ORDER BY n.m),
        'memory', jsonb_agg(c.memory ORDER BY n.m), 'units_used', jsonb_agg(c.units_used ORDER BY n.m),
        'modal_budget', jsonb_agg(c.modal_budget ORDER BY n.m), 'viewers', jsonb_agg(c.viewers ORDER BY n.m),
        'requests', jsonb_agg(c.requests ORDER BY n.m), 'refusals', jsonb_agg(c.refusals ORDER BY n.m))
    INTO v_minutes, v_admission FROM minutes n LEFT JOIN counted c USING (m);

    SELECT jsonb_object_agg(s.series, s.numbers) INTO v_series FROM (
        SELECT x.series, jsonb_agg(round(h.value::numeric, 2) ORDER BY m) AS numbers
        FROM (SELECT DISTINCT series FROM minute_history WHERE minute >= v_first AND series NOT LIKE 'refused.%') x
        CROSS JOIN generate_series(v_first, v_last, interval '1 minute') m
        LEFT JOIN minute_history h ON h.minute = m AND h.series = x.series GROUP BY x.series) s;

    SELECT jsonb_object_agg(substr(r.series, length('refused.') + 1), r.n) INTO v_refused FROM (
        SELECT series, (max(value) - min(value))::bigint AS n FROM minute_history
        WHERE minute >= v_first AND series LIKE 'refused.%' GROUP BY series) r;
    RETURN coalesce(v_series, '{}') || v_admission || jsonb_build_object('minutes', v_minutes, 'refused', coalesce(v_refused, '{}'));
END $$;
