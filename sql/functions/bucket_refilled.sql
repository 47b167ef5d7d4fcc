-- bucket_refilled(bucket, now): the bucket as it is at that time: requests tokens come per window_ms, evenly, to the
-- microsecond, and what has come of the next token is kept in remainder. Full is full: nothing is saved up beyond
-- requests, of which those that are in stock with processes are a part. A clock that went back changes nothing.
CREATE OR REPLACE FUNCTION camserver.bucket_refilled(p_bucket camserver.buckets, p_now timestamptz)
RETURNS camserver.buckets
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_window_us CONSTANT bigint := p_bucket.window_ms * 1000;
    v_full CONSTANT integer := greatest(0, p_bucket.requests - p_bucket.stocked);
    v_elapsed_us bigint;
    v_credit bigint;
BEGIN
    IF p_bucket.refilled_at IS NULL OR p_now <= p_bucket.refilled_at THEN
        RETURN p_bucket;
    END IF;
    -- A whole window fills any bucket; with this bound the product fits.
    v_elapsed_us := least(v_window_us, extract(epoch FROM p_now - p_bucket.refilled_at) * 1000000);
    v_credit := p_bucket.remainder + v_elapsed_us * p_bucket.requests;
    p_bucket.tokens := least(v_full, p_bucket.tokens + v_credit / v_window_us);
    p_bucket.remainder := CASE WHEN p_bucket.tokens = v_full THEN 0 ELSE v_credit % v_window_us END;
    p_bucket.refilled_at := p_now;
    RETURN p_bucket;
END $$;
