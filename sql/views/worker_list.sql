-- worker_list: the workers that there are, and the last hundred that there were, with the reason of their end.
CREATE VIEW camserver.worker_list AS
SELECT w.worker_id, w.pool, w.state, w.host, w.address || ':' || w.port AS address, h.name AS holder, w.calls,
    round(w.start_ms::numeric) AS start_ms,
    round(extract(epoch FROM clock_timestamp() - CASE w.state WHEN 'idle' THEN w.idle_since WHEN 'in_use' THEN w.granted_at
        WHEN 'starting' THEN w.started_at WHEN 'gone' THEN w.ended_at ELSE w.requested_at END), 1) AS since_sec,
    w.reason
FROM (SELECT * FROM camserver.workers WHERE state <> 'gone'
    UNION ALL
    (SELECT * FROM camserver.workers WHERE state = 'gone' ORDER BY ended_at DESC LIMIT 100)) w
LEFT JOIN camserver.pool_holders h ON h.holder_id = w.holder_id
ORDER BY w.state = 'gone', w.pool, w.state, w.ended_at DESC;
