-- bucket_facts(bucket, n, waiting): what stands between the n-th in line and the bucket, as it is at this moment, as an
-- answer tells it: the level with its numbers, and what to expect. p_waiting: how many wait for the model. Inlined.
CREATE OR REPLACE FUNCTION camserver.bucket_facts(p_bucket camserver.buckets, p_n integer, p_waiting integer) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('level', p_bucket.level, 'name', p_bucket.name, 'requests', p_bucket.requests,
        'window_ms', p_bucket.window_ms, 'concurrent', p_bucket.concurrent, 'tokens', p_bucket.tokens,
        'running', p_bucket.running, 'waiting', p_waiting,
        'binding', CASE WHEN p_bucket.running + p_n > p_bucket.concurrent
            AND camserver.bucket_room_ms(p_bucket, p_n) >= camserver.bucket_token_ms(p_bucket, p_n) THEN 'concurrent' ELSE 'requests' END,
        'expected_wait_ms', greatest(camserver.bucket_token_ms(p_bucket, p_n), camserver.bucket_room_ms(p_bucket, p_n)),
        'reset_ms', ceil((CASE WHEN p_bucket.tokens > 0 THEN p_bucket.requests - p_bucket.tokens ELSE 1 END
            * p_bucket.window_ms * 1000::numeric - p_bucket.remainder) / p_bucket.requests / 1000.0)::bigint)
$$;
