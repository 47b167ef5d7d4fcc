-- permit_grant(holder, model, caller, n, now, until): up to n permits at once, where nobody waits: the same as n requests one
-- after another, in one step. Nothing if somebody waits, or if the model draws from a shared bucket: then the queue decides.
-- The caller has permit_lock, and has served the queue. Returns their ids.
CREATE OR REPLACE FUNCTION camserver.permit_grant(
    p_holder uuid, p_model text, p_caller text, p_n integer, p_now timestamptz, p_until timestamptz) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_bucket buckets;
    v_last bigint;
    v_ids uuid[];
    v_n integer;
BEGIN
    SELECT (r.b).* INTO v_bucket FROM (SELECT bucket_refilled(x, p_now) AS b FROM buckets x
        JOIN models m ON m.bucket_ids = ARRAY[x.bucket_id] WHERE m.model = p_model AND x.waiting = 0 OFFSET 0) r;
    v_n := least(p_n, v_bucket.tokens, v_bucket.concurrent - v_bucket.running);
    IF v_bucket.bucket_id IS NULL OR v_n < 1 THEN
        RETURN '{}';
    END IF;
    v_ids := ARRAY(SELECT gen_random_uuid() FROM generate_series(1, v_n));
    INSERT INTO permits (permit_id, model, caller, holder, bucket_ids, asked_at, granted_at, expires_at, fresh)
    SELECT i, p_model, p_caller, p_holder, ARRAY[v_bucket.bucket_id], p_now, p_now, p_until, false FROM unnest(v_ids) i;
    INSERT INTO permit_turns AS t (model, caller, turn) VALUES (p_model, p_caller, v_bucket.turn + v_n - 1)
    ON CONFLICT (model, caller) DO UPDATE SET turn = greatest(t.turn + 1, v_bucket.turn) + v_n - 1 RETURNING t.turn INTO v_last;
    UPDATE buckets b SET tokens = v_bucket.tokens - v_n, remainder = v_bucket.remainder, refilled_at = v_bucket.refilled_at,
        running = b.running + v_n, turn = greatest(b.turn, v_last)
    WHERE b.bucket_id = v_bucket.bucket_id;
    RETURN v_ids;
END $$;
