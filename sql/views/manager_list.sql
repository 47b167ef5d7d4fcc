-- manager_list: the manager of each worker host and whether it lives.
CREATE VIEW camserver.manager_list AS
SELECT host, manager_id, pid, version, started_at,
    round(extract(epoch FROM clock_timestamp() - last_heartbeat), 1) AS heartbeat_age_sec,
    CASE WHEN stopped_at IS NOT NULL THEN 'stopped'
         WHEN last_heartbeat < clock_timestamp() - make_interval(secs => (
             SELECT value::float8 FROM camserver.settings WHERE name = 'manager_stale_sec')) THEN 'dead'
         ELSE 'alive' END AS state
FROM camserver.managers
ORDER BY host;
