-- dispatcher_list: the dispatcher processes of the last day and whether they live.
CREATE VIEW camserver.dispatcher_list AS
SELECT dispatcher_id, host, pid, version, started_at,
    round(extract(epoch FROM clock_timestamp() - last_heartbeat), 1) AS heartbeat_age_sec,
    CASE WHEN stopped_at IS NOT NULL THEN 'stopped'
         WHEN last_heartbeat < clock_timestamp() - make_interval(secs => (
             SELECT value::float8 FROM camserver.settings WHERE name = 'dispatcher_stale_sec')) THEN 'dead'
         ELSE 'alive' END AS state
FROM camserver.dispatchers
ORDER BY started_at DESC;
