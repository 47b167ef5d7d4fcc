-- health: each host's last sample and what it means.
CREATE VIEW camserver.health AS
SELECT host, CASE WHEN sampled_at > clock_timestamp() - make_interval(secs => (
        SELECT value::float8 FROM camserver.settings WHERE name = 'health_stale_sec'))
        THEN level ELSE 'stale' END AS level,
    overloaded, cpu_percent, memory_percent, swap_mb, reason,
    round(extract(epoch FROM clock_timestamp() - sampled_at), 1) AS sample_age_sec,
    last_overload_at
FROM camserver.system_health
ORDER BY host;
