-- model_limits: each model's effective limits and where they come from, its tokens now, what runs, who waits, and how many
-- calls were refused in the last minute.
CREATE VIEW camserver.model_limits AS
SELECT e.model, e.provider_id AS provider, m.upstream_name, m.pool, m.enabled, e.requests, e.requests_from, e.window_ms,
    e.window_ms_from, e.concurrent, e.concurrent_from, e.shared,
    (r.b).tokens + round((r.b).remainder / ((r.b).window_ms * 1000.0), 3) AS tokens, (r.b).running, (r.b).waiting,
    (SELECT count(*) FROM camserver.permit_calls c WHERE c.model = e.model AND c.outcome IN ('refused', 'deadline')
        AND c.ended_at > now() - interval '1 minute') AS refused_per_minute
FROM camserver.limits_effective() e JOIN camserver.models m ON m.model = e.model
JOIN LATERAL (SELECT camserver.bucket_refilled(x, clock_timestamp()) AS b FROM camserver.buckets x
    WHERE x.level = 'model' AND x.name = e.model OFFSET 0) r ON true
ORDER BY e.provider_id, e.model;
