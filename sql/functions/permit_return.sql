-- permit_return(ids, now): permits that were granted and never used: their room comes back, and so does their token unless
-- another has come since: what might have overflowed meanwhile must not make the bucket fuller than it could be. No call is
-- recorded. The caller has permit_lock, and serves those who wait. Returns how many there were.
CREATE OR REPLACE FUNCTION camserver.permit_return(p_ids uuid[], p_now timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    WITH returned AS (
        DELETE FROM permits p WHERE p.permit_id = ANY (p_ids) RETURNING p.bucket_ids, p.granted_at
    ), freed AS (
        UPDATE buckets b SET running = b.running - f.n, tokens = least(b.requests, b.tokens + f.tokens),
            remainder = CASE WHEN f.tokens > 0 THEN 0 ELSE b.remainder END
        FROM (SELECT x.bucket_id, count(*)::integer AS n, count(*) FILTER (
                WHERE r.granted_at > p_now - x.window_ms * interval '1 ms' / x.requests)::integer AS tokens
              FROM returned r JOIN buckets x ON x.bucket_id = ANY (r.bucket_ids) GROUP BY x.bucket_id) f
        WHERE b.bucket_id = f.bucket_id
    )
    SELECT count(*) INTO v_count FROM returned;
    RETURN v_count;
END $$;
