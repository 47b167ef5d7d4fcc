-- permit_grant_free(holder, requests, now, expires): grants at once what there is plenty for, all of it in one statement: the
-- requests for models that draw from their own bucket alone, where nobody waits and there are tokens and room for all of
-- them. It writes what queueing and serving them would have written. Requests for other models, and those of a model of
-- which an id is known already, are left to permit_serve. Internal, for permit_acquire(), which has permit_lock for the
-- models, and p_now from it. Returns jsonb: the answers by id.
CREATE OR REPLACE FUNCTION camserver.permit_grant_free(
    p_holder uuid, p_requests jsonb, p_now timestamptz, p_expires timestamptz) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_answers jsonb;
BEGIN
    WITH asked AS MATERIALIZED (
        SELECT DISTINCT (r->>'id')::uuid AS id, r->>'model' AS model, coalesce(r->>'caller', '') AS caller
        FROM jsonb_array_elements(p_requests) r
    ), free AS MATERIALIZED (
        SELECT w.model, w.n, l.m, bucket_refilled(b, p_now) AS b
        FROM (SELECT model, count(*)::integer AS n, array_agg(id) AS ids FROM asked GROUP BY model) w
        CROSS JOIN LATERAL (SELECT m FROM models m WHERE m.model = w.model LIMIT 1) l -- one by one, by the index
        JOIN buckets b ON b.bucket_id = (l.m).bucket_ids[1]
        WHERE (l.m).enabled AND cardinality((l.m).bucket_ids) = 1 AND b.waiting = 0 AND b.running + w.n <= b.concurrent
          AND NOT EXISTS (SELECT 1 FROM permits p WHERE p.permit_id = ANY (w.ids))
    ), served AS MATERIALIZED (
        SELECT * FROM free f WHERE (f.b).tokens >= f.n
    ), turns AS MATERIALIZED ( -- each caller's last one
        SELECT a.model, a.caller, greatest((s.b).turn, t.turn + 1) + count(*) - 1 AS turn
        FROM asked a JOIN served s ON s.model = a.model
        LEFT JOIN permit_turns t ON t.model = a.model AND t.caller = a.caller
        GROUP BY a.model, a.caller, (s.b).turn, t.turn
    ), turned AS (
        INSERT INTO permit_turns (model, caller, turn) SELECT t.model, t.caller, t.turn FROM turns t
        ON CONFLICT (model, caller) DO UPDATE SET turn = excluded.turn
    ), granted AS (
        INSERT INTO permits (permit_id, model, caller, holder, bucket_ids, asked_at, granted_at, expires_at, fresh)
        SELECT a.id, a.model, a.caller, p_holder, (s.m).bucket_ids, p_now, p_now, p_expires, false
        FROM asked a JOIN served s ON s.model = a.model
    ), drawn AS (
        UPDATE buckets x SET tokens = (s.b).tokens - s.n, remainder = (s.b).remainder, refilled_at = (s.b).refilled_at,
            running = x.running + s.n, turn = greatest(x.turn, (SELECT max(t.turn) FROM turns t WHERE t.model = s.model))
        FROM served s WHERE x.bucket_id = (s.b).bucket_id
        RETURNING s.model, x AS bucket
    ), told AS MATERIALIZED (
        SELECT d.model, bucket_facts(d.bucket, 1, 0) || permit_target(s.m, p) AS facts
        FROM drawn d JOIN served s ON s.model = d.model JOIN providers p ON p.provider_id = (s.m).provider_id
    )
    SELECT jsonb_object_agg(a.id, t.facts || jsonb_build_object('id', a.id, 'model', a.model, 'outcome', 'GRANTED',
        'caller', a.caller, 'waited_ms', 0)) INTO v_answers
    FROM asked a JOIN told t ON t.model = a.model;
    RETURN coalesce(v_answers, '{}');
END $$;
