-- permit_facts(model, n, now): what stands between the n-th in line and its permit: the level that binds - the one that
-- takes longest - with its numbers, how many wait, and what to expect. Tokens come for sure; how long calls that run will
-- take is a guess from those before. Returns jsonb; locks nothing.
CREATE OR REPLACE FUNCTION camserver.permit_facts(p_model text, p_n integer, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_facts jsonb;
BEGIN
    SELECT bucket_facts(r.b, p_n, (SELECT w.waiting FROM buckets w WHERE w.level = 'model' AND w.name = p_model)) INTO v_facts
    FROM (SELECT bucket_refilled(x, p_now) AS b FROM buckets x, models m
          WHERE m.model = p_model AND x.bucket_id = ANY (m.bucket_ids) OFFSET 0) r
    ORDER BY greatest(bucket_token_ms(r.b, p_n), bucket_room_ms(r.b, p_n)) DESC,
        (r.b).running + p_n > (r.b).concurrent DESC, (r.b).tokens, (r.b).level LIMIT 1;
    RETURN v_facts;
END $$;
