-- bucket_room_ms(bucket, n): how long until n more calls have room, guessed from how long calls took so far. Inlined.
CREATE OR REPLACE FUNCTION camserver.bucket_room_ms(p_bucket camserver.buckets, p_n integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_bucket.running + p_n <= p_bucket.concurrent THEN 0 ELSE
        ceil(ceil((p_bucket.running + p_n - p_bucket.concurrent) / p_bucket.concurrent::numeric) * p_bucket.call_ms::numeric)::bigint END
$$;
