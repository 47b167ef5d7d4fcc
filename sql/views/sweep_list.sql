-- sweep_list: the periodic work: when each piece ran, for how long, what it did, and its last error.
CREATE VIEW camserver.sweep_list AS
SELECT name, interval_sec, last_run_at, round(extract(epoch FROM clock_timestamp() - last_run_at), 1) AS age_sec,
    last_count, round(last_ms, 1) AS last_ms, last_by, last_error
FROM camserver.sweeps
ORDER BY name;
