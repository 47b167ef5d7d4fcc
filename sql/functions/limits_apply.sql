-- limits_apply(): makes the buckets what rate_limits says, and serves those who wait under the new limits at once;
-- who goes on waiting is told to ask. A bucket
-- keeps its tokens, up to the new maximum, and the fraction of the next one; what came up to now came under the old limits.
-- Permits that were given stay, also above a lowered limit; what processes have in stock is called back. New buckets are full.
-- Locks: 'limits' exclusive, which the caller has already, then all buckets.
CREATE OR REPLACE FUNCTION camserver.limits_apply() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz;
    v_waiting text[];
BEGIN
    PERFORM pg_advisory_xact_lock(lock_class('limits'), 0);
    v_now := clock_timestamp();
    WITH wanted AS (
        SELECT 'model'::limit_level AS level, e.model AS name, e.requests, e.window_ms, e.concurrent FROM limits_effective() e
        UNION ALL
        SELECT l.level, coalesce(l.provider_id, ''), coalesce(l.requests, g.requests, 10), coalesce(l.window_ms, g.window_ms, 60000),
            coalesce(l.concurrent, g.concurrent, 1)
        FROM rate_limits l LEFT JOIN rate_limits g ON g.level = 'global' WHERE l.shared
    ), old AS (
        SELECT w.*, bucket_refilled(b, v_now) AS b FROM wanted w LEFT JOIN buckets b ON b.level = w.level AND b.name = w.name OFFSET 0
    )
    INSERT INTO buckets (level, name, requests, window_ms, concurrent, tokens, remainder, refilled_at)
    SELECT o.level, o.name, o.requests, o.window_ms, o.concurrent,
        least(coalesce((o.b).tokens, o.requests), greatest(0, o.requests - coalesce((o.b).stocked, 0))),
        CASE WHEN coalesce((o.b).tokens, o.requests) >= o.requests THEN 0
            ELSE div((o.b).remainder::numeric * o.window_ms, (o.b).window_ms)::bigint END, v_now
    FROM old o ORDER BY o.level, o.name
    ON CONFLICT (level, name) DO UPDATE SET requests = excluded.requests, window_ms = excluded.window_ms,
        concurrent = excluded.concurrent, tokens = excluded.tokens, remainder = excluded.remainder,
        refilled_at = greatest(buckets.refilled_at, excluded.refilled_at);
    UPDATE models m SET bucket_ids = n.ids FROM (
        SELECT x.model, array_agg(b.bucket_id ORDER BY b.level) AS ids FROM models x JOIN buckets b ON
            (b.level = 'model' AND b.name = x.model)
            OR (b.level = 'provider' AND b.name = x.provider_id
                AND EXISTS (SELECT 1 FROM rate_limits l WHERE l.level = 'provider' AND l.provider_id = x.provider_id AND l.shared))
            OR (b.level = 'global' AND EXISTS (SELECT 1 FROM rate_limits l WHERE l.level = 'global' AND l.shared))
        GROUP BY x.model) n
    WHERE m.model = n.model AND m.bucket_ids IS DISTINCT FROM n.ids;
    PERFORM permit_recall();
    SELECT array_agg(DISTINCT w.model) INTO v_waiting FROM permit_waiters w;
    IF v_waiting IS NOT NULL THEN
        PERFORM permit_serve(v_waiting, NULL, permit_lock(v_waiting));
        -- What the others were told of when to ask again does not hold any more.
        PERFORM pg_notify('permit_' || replace(h.holder::text, '-', ''), '') FROM (SELECT DISTINCT holder FROM permit_waiters) h;
    END IF;
END $$;
