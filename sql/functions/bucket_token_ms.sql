-- bucket_token_ms(bucket, n): how long until the bucket, as it is at this moment, has its n-th token from now on.
-- Plain SQL without settings of its own: it is inlined.
CREATE OR REPLACE FUNCTION camserver.bucket_token_ms(p_bucket camserver.buckets, p_n integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_n <= p_bucket.tokens THEN 0 ELSE
        ceil(((p_n - p_bucket.tokens) * p_bucket.window_ms * 1000::numeric - p_bucket.remainder) / p_bucket.requests / 1000)::bigint END
$$;
