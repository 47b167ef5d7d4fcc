-- permit_return(ids): permits that were granted and never used: room and token come back, and no call is recorded. The
-- caller has permit_lock, and serves those who wait. Returns how many there were.
CREATE OR REPLACE FUNCTION camserver.permit_return(p_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    WITH returned AS (
        DELETE FROM permits p WHERE p.permit_id = ANY (p_ids) RETURNING p.bucket_ids
    ), freed AS (
        UPDATE buckets b SET running = b.running - f.n, tokens = least(b.requests, b.tokens + f.n),
            remainder = CASE WHEN b.tokens + f.n >= b.requests THEN 0 ELSE b.remainder END
        FROM (SELECT u.bucket_id, count(*)::integer AS n FROM returned r, unnest(r.bucket_ids) AS u (bucket_id) GROUP BY u.bucket_id) f
        WHERE b.bucket_id = f.bucket_id
    )
    SELECT count(*) INTO v_count FROM returned;
    RETURN v_count;
END $$;
