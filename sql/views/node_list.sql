-- node_list: the inference nodes and how the programs that call them find them. ejected: a program has found it out of
-- order, and the others take its word; unknown: nobody has called it lately.
CREATE VIEW camserver.node_list AS
SELECT n.name, n.base_url, n.models, n.max_inflight, n.weight, n.http2, n.health_path, n.draining,
    CASE WHEN n.draining THEN 'draining' WHEN r.reporters = 0 THEN 'unknown'
         WHEN r.out > 0 THEN 'ejected' ELSE 'up' END AS state,
    r.out_until,
    r.reason, r.inflight, r.latency_ms, r.requests, r.failures, r.ejections
FROM camserver.nodes n
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE x.fresh) AS reporters,
        count(*) FILTER (WHERE x.fresh AND x.out_until IS NOT NULL) AS out,
        max(x.out_until) FILTER (WHERE x.fresh) AS out_until,
        (array_agg(x.reason ORDER BY x.reported_at DESC) FILTER (WHERE x.reason IS NOT NULL))[1] AS reason,
        coalesce(sum(x.inflight) FILTER (WHERE x.fresh), 0)::integer AS inflight,
        round((avg(x.latency_ms) FILTER (WHERE x.fresh))::numeric, 1) AS latency_ms,
        coalesce(sum(x.requests), 0)::bigint AS requests, coalesce(sum(x.failures), 0)::bigint AS failures,
        coalesce(sum(x.ejections), 0)::bigint AS ejections
    FROM (SELECT *, reported_at > now() - interval '1 minute' AS fresh FROM camserver.node_reports) x WHERE x.node = n.name) r
ORDER BY n.name;
