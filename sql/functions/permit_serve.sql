-- permit_serve(models, holder, now, told): gives permits to those who wait, in order, as far as tokens and room go; first
-- it ends what is dead: permits of silent holders, waiters past their deadline or of silent processes. Where a bucket is
-- shared, the other models that draw from it are served too. Between models the oldest ticket goes first.
--   p_holder  the process that asks: the others whose waiters were served are notified, on a channel each
--   p_told    the requests whose state the caller is told anyway
-- The caller has permit_lock for the models, and p_now from it.
CREATE OR REPLACE FUNCTION camserver.permit_serve(
    p_models text[], p_holder uuid, p_now timestamptz, p_told uuid[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_open text[] := p_models;
    v_shared integer[];
    v_waiter record;
    v_wake uuid[] := '{}';
    v_holder uuid;
BEGIN
    SELECT array_agg(b.bucket_id) INTO v_shared FROM buckets b
    WHERE b.level <> 'model' AND b.bucket_id IN (SELECT unnest(m.bucket_ids) FROM models m WHERE m.model = ANY (p_models));
    IF v_shared IS NOT NULL THEN
        SELECT array_agg(m.model) INTO v_open FROM models m WHERE m.model = ANY (p_models) OR m.bucket_ids && v_shared;
        PERFORM permit_lock(v_open);
    END IF;
    PERFORM permit_end(ARRAY(SELECT p.permit_id FROM permits p WHERE p.model = ANY (v_open) AND p.expires_at <= p_now),
        'expired', p_now);
    IF NOT EXISTS (SELECT 1 FROM permit_waiters w WHERE w.model = ANY (v_open)) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT 1 FROM buckets b WHERE b.level = 'model' AND b.name = ANY (v_open) AND b.waiter_due_at <= p_now) THEN
        PERFORM permit_leave(ARRAY(SELECT w.permit_id FROM permit_waiters w
            WHERE w.model = ANY (v_open) AND w.deadline_at < p_now), 'deadline', p_now);
        PERFORM permit_leave(ARRAY(SELECT w.permit_id FROM permit_waiters w
            WHERE w.model = ANY (v_open) AND w.seen_until <= p_now), 'lost', p_now);
        UPDATE buckets b SET waiter_due_at = coalesce((SELECT least(min(w.deadline_at), min(w.seen_until)) FROM permit_waiters w
            WHERE w.model = b.name), 'infinity')
        WHERE b.level = 'model' AND b.name = ANY (v_open) AND b.waiter_due_at <= p_now;
    END IF;
    UPDATE buckets b SET tokens = (r.refilled).tokens, remainder = (r.refilled).remainder,
        refilled_at = (r.refilled).refilled_at
    FROM (SELECT x.bucket_id, bucket_refilled(x, p_now) AS refilled FROM buckets x
          WHERE x.bucket_id IN (SELECT unnest(m.bucket_ids) FROM models m WHERE m.model = ANY (v_open)) OFFSET 0) r
    WHERE b.bucket_id = r.bucket_id;

    LOOP
        SELECT w.*, m.bucket_ids, EXISTS (SELECT 1 FROM buckets b WHERE b.bucket_id = ANY (m.bucket_ids)
            AND (b.tokens < 1 OR b.running >= b.concurrent)) AS blocked
        INTO v_waiter
        FROM unnest(v_open) AS o (model) JOIN models m ON m.model = o.model CROSS JOIN LATERAL (
            SELECT * FROM permit_waiters x WHERE x.model = o.model ORDER BY x.turn, x.ticket LIMIT 1) w
        ORDER BY w.ticket LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF v_waiter.blocked THEN
            v_open := array_remove(v_open, v_waiter.model);
            CONTINUE;
        END IF;
        DELETE FROM permit_waiters w WHERE w.permit_id = v_waiter.permit_id;
        -- Not longer than its process is known to live: who died while waiting keeps nobody waiting for long.
        INSERT INTO permits (permit_id, model, caller, holder, bucket_ids, asked_at, granted_at, expires_at, fresh)
        VALUES (v_waiter.permit_id, v_waiter.model, v_waiter.caller, v_waiter.holder, v_waiter.bucket_ids,
            v_waiter.asked_at, p_now, v_waiter.seen_until, v_waiter.permit_id <> ALL (p_told));
        UPDATE buckets b SET tokens = b.tokens - 1, running = b.running + 1,
            waiting = b.waiting - (b.level = 'model')::integer,
            turn = CASE b.level WHEN 'model' THEN greatest(b.turn, v_waiter.turn) ELSE b.turn END
        WHERE b.bucket_id = ANY (v_waiter.bucket_ids);
        IF v_waiter.holder IS DISTINCT FROM p_holder THEN
            v_wake := v_wake || v_waiter.holder;
        END IF;
    END LOOP;
    FOR v_holder IN SELECT DISTINCT unnest(v_wake) LOOP
        PERFORM pg_notify('permit_' || replace(v_holder::text, '-', ''), '');
    END LOOP;
END $$;
