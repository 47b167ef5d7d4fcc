-- permit_end(ids, outcome, now): permits are over: their rows go, their buckets have room again, no token comes back, and
-- the calls are recorded. With the outcome expired only those that nobody renewed meanwhile: a stock among them counts as
-- one call, since what became of its calls nobody can say. The caller has permit_lock. Returns how many there were.
CREATE OR REPLACE FUNCTION camserver.permit_end(p_ids uuid[], p_outcome text, p_now timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    IF cardinality(p_ids) = 0 THEN
        RETURN 0;
    END IF;
    WITH ended AS (
        DELETE FROM permits p WHERE p.permit_id = ANY (p_ids) AND (p_outcome <> 'expired' OR p.expires_at <= p_now)
        RETURNING p.*
    ), freed AS (
        UPDATE buckets b SET running = b.running - f.slots, stocked = b.stocked - f.tokens,
            call_ms = CASE WHEN p_outcome <> 'released' OR f.ms IS NULL THEN b.call_ms WHEN b.call_ms = 0 THEN f.ms
                ELSE b.call_ms + (f.ms - b.call_ms) * 0.2 END
        FROM (SELECT u.bucket_id, sum(e.slots)::integer AS slots, sum(e.tokens)::integer AS tokens,
                  (avg(extract(epoch FROM p_now - e.granted_at) * 1000) FILTER (WHERE NOT e.stock))::real AS ms
              FROM ended e, unnest(e.bucket_ids) AS u (bucket_id) GROUP BY u.bucket_id) f
        WHERE b.bucket_id = f.bucket_id
    )
    INSERT INTO permit_calls (model, caller, asked_at, granted_at, ended_at, outcome)
    SELECT e.model, e.caller, e.asked_at, e.granted_at, p_now, p_outcome FROM ended e;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END $$;
