-- permit_stock(holder, asks, now, expires): stocks for a process that calls a model again and again: calls that it may begin
-- without asking. Only where there is plenty: the model draws from its own bucket alone, nobody waits, and no more than an
-- eighth of the tokens and of the room there is goes to one stock; less than two is none.
--   p_asks  [{"id": uuid, "model", "n"}], a model once
-- Returns a jsonb array: id, model, and outcome STOCK with n, the facts and the target of a grant, or NO_STOCK.
-- Internal, for permit_exchange(), which has permit_lock for the models, and p_now from it.
CREATE OR REPLACE FUNCTION camserver.permit_stock(
    p_holder uuid, p_asks jsonb, p_now timestamptz, p_expires timestamptz) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    c_share CONSTANT integer := 8;
    c_least CONSTANT integer := 2;
    v_max integer := setting_number('permit_stock_max');
    v_answers jsonb;
BEGIN
    WITH asked AS MATERIALIZED (
        SELECT (r->>'id')::uuid AS id, r->>'model' AS model, least((r->>'n')::integer, v_max) AS n
        FROM jsonb_array_elements(p_asks) r
    ), room AS MATERIALIZED (
        SELECT a.id, l.m, bucket_refilled(b, p_now) AS b, a.n
        FROM asked a CROSS JOIN LATERAL (SELECT m FROM models m WHERE m.model = a.model LIMIT 1) l -- one by one, by the index
        JOIN buckets b ON b.bucket_id = (l.m).bucket_ids[1]
        WHERE (l.m).enabled AND cardinality((l.m).bucket_ids) = 1 AND b.waiting = 0
          AND NOT EXISTS (SELECT 1 FROM permits p WHERE p.permit_id = a.id)
    ), given AS MATERIALIZED (
        SELECT r.id, r.m, r.b, g.n FROM room r
        CROSS JOIN LATERAL (SELECT least(r.n, (r.b).tokens / c_share, ((r.b).concurrent - (r.b).running) / c_share) AS n) g
        WHERE g.n >= c_least
    ), put AS (
        INSERT INTO permits (permit_id, model, caller, holder, bucket_ids, asked_at, granted_at, expires_at, fresh, stock, slots, tokens)
        SELECT g.id, (g.m).model, 'stock', p_holder, (g.m).bucket_ids, p_now, p_now, p_expires, false, true, g.n, g.n FROM given g
    ), drawn AS (
        UPDATE buckets x SET tokens = (g.b).tokens - g.n, remainder = (g.b).remainder, refilled_at = (g.b).refilled_at,
            stocked = x.stocked + g.n, running = x.running + g.n
        FROM given g WHERE x.bucket_id = (g.b).bucket_id
        RETURNING g.id, x AS bucket
    )
    SELECT jsonb_agg(jsonb_build_object('id', a.id, 'model', a.model) || CASE WHEN g.id IS NULL THEN jsonb_build_object('outcome', 'NO_STOCK')
        ELSE bucket_facts(d.bucket, 1, 0) || permit_target(g.m, p) || jsonb_build_object('outcome', 'STOCK', 'n', g.n) END) INTO v_answers
    FROM asked a LEFT JOIN given g ON g.id = a.id LEFT JOIN drawn d ON d.id = a.id
    LEFT JOIN providers p ON p.provider_id = (g.m).provider_id;
    RETURN coalesce(v_answers, '[]');
END $$;
