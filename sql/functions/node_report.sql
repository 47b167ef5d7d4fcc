-- node_report(reporter_id, reporter, news): what a process has found of the nodes that it calls.
--   p_news  [{"node", "out_ms" (null: it is called), "reason", "inflight", "latency_ms", "requests", "failures",
--           "ejections", "changed" (it was left alone, or came back, just now: others are told)}]
-- Nodes that are gone are passed over. Locks: the reports' own rows.
CREATE OR REPLACE FUNCTION camserver.node_report(p_reporter_id uuid, p_reporter text, p_news jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    INSERT INTO node_reports AS r (node, reporter_id, reporter, reported_at, out_until, reason, inflight, latency_ms,
        requests, failures, ejections)
    SELECT n.name, p_reporter_id, p_reporter, v_now, v_now + (e->>'out_ms')::float8 * interval '1 ms',
        left(e->>'reason', 400), (e->>'inflight')::integer, (e->>'latency_ms')::float8, (e->>'requests')::bigint,
        (e->>'failures')::bigint, (e->>'ejections')::bigint
    FROM jsonb_array_elements(p_news) e JOIN nodes n ON n.name = e->>'node'
    ORDER BY n.name
    ON CONFLICT (node, reporter_id) DO UPDATE SET reported_at = excluded.reported_at, out_until = excluded.out_until,
        reason = coalesce(excluded.reason, r.reason), inflight = excluded.inflight, latency_ms = excluded.latency_ms,
        requests = excluded.requests, failures = excluded.failures, ejections = excluded.ejections;
    IF EXISTS (SELECT 1 FROM jsonb_array_elements(p_news) e WHERE (e->>'changed')::boolean) THEN
        PERFORM pg_notify('cam_nodes', p_reporter_id::text);
    END IF;
END $$;
