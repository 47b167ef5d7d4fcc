-- shared_limits: the buckets that several models draw from.
CREATE VIEW camserver.shared_limits AS
SELECT (r.b).level, (r.b).name, (r.b).requests, (r.b).window_ms, (r.b).concurrent,
    (r.b).tokens + round((r.b).remainder / ((r.b).window_ms * 1000.0), 3) AS tokens, (r.b).running,
    (SELECT count(*) FROM camserver.models m WHERE (r.b).bucket_id = ANY (m.bucket_ids)) AS models
FROM (SELECT camserver.bucket_refilled(x, clock_timestamp()) AS b FROM camserver.buckets x
    WHERE x.level <> 'model' OFFSET 0) r
ORDER BY (r.b).level, (r.b).name;
