-- metrics_record(): one row of admission_metrics for the whole cluster. The _total columns never fall; the
-- difference of two rows is what happened between them.
CREATE OR REPLACE FUNCTION camserver.metrics_record() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_status jsonb := system_status(NULL);
BEGIN
    INSERT INTO admission_metrics (active_modals, active_suggest, cpu_percent, memory_percent, requests_total,
        rejections_total, units_used, modal_budget, active_ui_users)
    SELECT (v_status->>'active_modals')::integer, (v_status->>'suggest_active')::boolean,
        coalesce((v_status->>'cpu_percent')::numeric, 0), coalesce((v_status->>'memory_percent')::numeric, 0),
        coalesce(sum(value) FILTER (WHERE name = 'lease_granted' OR name LIKE 'lease_refused_%'), 0),
        coalesce(sum(value) FILTER (WHERE name LIKE 'lease_refused_%'), 0),
        (v_status->>'modal_usage')::integer, (v_status->>'modal_budget')::integer,
        (v_status->>'active_ui_users')::integer
    FROM host_counters;
    RETURN jsonb_build_object('count', 1, 'more', false);
END $$;
