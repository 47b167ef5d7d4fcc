-- pool_status: the pools, what runs in them, and what is wrong.
CREATE VIEW camserver.pool_status AS
SELECT p.name, p.driver, p.max_capacity AS capacity, c.idle, c.in_use, c.starting, c.stopping,
    (SELECT count(*) FROM camserver.worker_waiters q WHERE q.pool = p.name AND q.worker_id IS NULL) AS waiting,
    round(p.start_ms::numeric) AS start_ms, p.starts_ok, p.starts_failed,
    CASE WHEN p.draining THEN 'draining' WHEN p.max_capacity = 0 THEN 'off'
         WHEN p.fail_streak > 0 THEN 'failing' ELSE 'ok' END AS state,
    CASE WHEN p.fail_streak > 0 THEN p.last_error END AS error
FROM camserver.pools p
CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE w.state = 'idle') AS idle,
        count(*) FILTER (WHERE w.state = 'in_use') AS in_use,
        count(*) FILTER (WHERE w.state IN ('wanted', 'starting')) AS starting,
        count(*) FILTER (WHERE w.state = 'stopping') AS stopping
    FROM camserver.workers w WHERE w.pool = p.name AND w.state <> 'gone') c
ORDER BY p.name;
