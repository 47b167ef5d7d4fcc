-- budget: each stream server's units: what there is, what is kept back, what modal leases use and may still use.
CREATE VIEW camserver.budget AS
SELECT s.stream_server_id, s.host, s.total_units, s.baseline_units,
    s.max_ui_users * s.sub_cost AS suggest_reserved,
    camserver.suggest_usage(s.stream_server_id, s.sub_cost, clock_timestamp()) AS suggest_used,
    camserver.stream_budget(s, clock_timestamp()) AS modal_budget,
    u.units_used AS modal_usage, u.active_modals,
    greatest(0, camserver.stream_budget(s, clock_timestamp()) - u.units_used) AS modal_remaining
FROM camserver.stream_servers s JOIN camserver.stream_usage u USING (stream_server_id)
ORDER BY s.stream_server_id;
