-- permit_facts(model, n, now): what stands between the n-th in line and its permit: the level that binds - the one that
-- takes longest - with its numbers, how many wait, and what to expect. Tokens come for sure; how long calls that run will
-- take is a guess from those before. Returns jsonb; locks nothing.
CREATE OR REPLACE FUNCTION camserver.permit_facts(p_model text, p_n integer, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_facts jsonb;
BEGIN
    SELECT jsonb_build_object('level', f.level, 'name', f.name, 'requests', f.requests, 'window_ms', f.window_ms,
        'concurrent', f.concurrent, 'tokens', f.tokens, 'running', f.running,
        'waiting', (SELECT w.waiting FROM buckets w WHERE w.level = 'model' AND w.name = p_model),
        'binding', CASE WHEN f.running + p_n > f.concurrent AND f.room_ms >= f.token_ms THEN 'concurrent' ELSE 'requests' END,
        'expected_wait_ms', greatest(f.token_ms, f.room_ms),
        'reset_ms', ceil((CASE WHEN f.tokens > 0 THEN f.requests - f.tokens ELSE 1 END * f.window_us - f.remainder)
            / f.requests / 1000.0)::bigint)
    INTO v_facts
    FROM (
        SELECT (r.b).*, (r.b).window_ms * 1000::numeric AS window_us,
            CASE WHEN p_n <= (r.b).tokens THEN 0 ELSE ceil(((p_n - (r.b).tokens) * (r.b).window_ms * 1000::numeric
                - (r.b).remainder) / (r.b).requests / 1000)::bigint END AS token_ms,
            CASE WHEN (r.b).running + p_n <= (r.b).concurrent THEN 0 ELSE ceil(ceil(((r.b).running + p_n - (r.b).concurrent)
                / (r.b).concurrent::numeric) * (r.b).call_ms::numeric)::bigint END AS room_ms
        FROM (SELECT bucket_refilled(x, p_now) AS b FROM buckets x, models m
              WHERE m.model = p_model AND x.bucket_id = ANY (m.bucket_ids) OFFSET 0) r
    ) f
    ORDER BY greatest(f.token_ms, f.room_ms) DESC, f.running + p_n > f.concurrent DESC, f.tokens, f.level LIMIT 1;
    RETURN v_facts;
END $$;
