-- stream_budget(server row, at): units that modal leases may use on it:
-- total - baseline - max(worst-case suggest reservation, what the suggestion takes now). Never below 0.
CREATE OR REPLACE FUNCTION camserver.stream_budget(p_server camserver.stream_servers, p_at timestamptz) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN greatest(0, p_server.total_units - p_server.baseline_units - greatest(
        p_server.max_ui_users * p_server.sub_cost,
        camserver.suggest_usage(p_server.stream_server_id, p_server.sub_cost, p_at)));
END $$;
