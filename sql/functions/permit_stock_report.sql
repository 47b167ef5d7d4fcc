-- permit_stock_report(holder, reports, now): what a process has done with its stocks. All numbers are how it stands, not what
-- has changed, so a report may be repeated.
--   p_reports  [{"id": uuid, "slots": calls under way and yet to begin, "unspent": tokens left (null: all), "close": no more
--              calls will begin: the unspent tokens go back, and with no slots it is over, "first": how many calls were
--              reported before, "calls": [[caller, began, ended]], the times as microseconds ago}]
-- A stock that is no more - it ran out, since its holder was silent - changes nothing. Internal, for permit_exchange(), which
-- has permit_lock for the models, and p_now from it, and serves those who wait.
CREATE OR REPLACE FUNCTION camserver.permit_stock_report(p_holder uuid, p_reports jsonb, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    WITH said AS MATERIALIZED (
        SELECT p.permit_id, p.model, p.bucket_ids[1] AS bucket_id, p.slots AS slots_before, p.tokens AS tokens_before, p.reported,
            least(p.slots, r.slots) AS slots, least(p.tokens, coalesce(r.unspent, p.tokens)) AS unspent, r.close, r.first, r.calls,
            (SELECT avg((c->>1)::float8 - (c->>2)::float8) / 1000 FROM jsonb_array_elements(r.calls) c) AS ms
        FROM jsonb_to_recordset(p_reports) AS r (id uuid, slots integer, unspent integer, close boolean, first integer, calls jsonb)
        JOIN permits p ON p.permit_id = r.id AND p.holder = p_holder AND p.stock
    ), recorded AS (
        INSERT INTO permit_calls (model, caller, asked_at, granted_at, ended_at, outcome)
        SELECT s.model, c->>0, t.began, t.began, p_now - (c->>2)::float8 * interval '1 us', 'released'
        FROM said s CROSS JOIN LATERAL jsonb_array_elements(s.calls) WITH ORDINALITY AS x (c, n)
        CROSS JOIN LATERAL (SELECT p_now - (c->>1)::float8 * interval '1 us' AS began) t
        WHERE s.first + x.n > s.reported
    ), kept AS (
        UPDATE permits p SET slots = s.slots, tokens = CASE WHEN s.close THEN 0 ELSE s.unspent END,
            reported = greatest(p.reported, s.first + jsonb_array_length(s.calls))
        FROM said s WHERE p.permit_id = s.permit_id AND NOT (s.close AND s.slots = 0)
    ), gone AS (
        DELETE FROM permits p USING said s WHERE p.permit_id = s.permit_id AND s.close AND s.slots = 0
    )
    UPDATE buckets b SET running = b.running - f.slots, stocked = b.stocked - f.spent - f.back,
        tokens = least(b.tokens + f.back, greatest(b.tokens, b.requests - (b.stocked - f.spent - f.back))),
        remainder = CASE WHEN b.tokens + f.back >= b.requests THEN 0 ELSE b.remainder END,
        call_ms = CASE WHEN f.ms IS NULL THEN b.call_ms WHEN b.call_ms = 0 THEN f.ms ELSE b.call_ms + (f.ms - b.call_ms) * 0.2 END
    FROM (SELECT s.bucket_id, sum(s.slots_before - s.slots)::integer AS slots, sum(s.tokens_before - s.unspent)::integer AS spent,
              sum(CASE WHEN s.close THEN s.unspent ELSE 0 END)::integer AS back,
              avg(s.ms)::real AS ms
          FROM said s GROUP BY s.bucket_id) f
    WHERE b.bucket_id = f.bucket_id;
END $$;
