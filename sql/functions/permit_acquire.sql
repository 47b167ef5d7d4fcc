-- permit_acquire(holder, requests): ask for permits to call models, any number in one transaction.
--   p_holder    the process that will hold them, a uuid per process start; it must permit_renew() within permit_ttl_sec
--   p_requests  [{"id": uuid, "model", "caller", "wait_ms"}]; id is the asker's own and becomes the permit's: asking again
--               with it only tells how it stands. wait_ms 0: now or not at all; absent: permit_wait_sec
-- Returns a jsonb array of the same order. outcome GRANTED; or WAITING with ticket, place and expected_wait_ms; or
-- RATE_LIMITED with the reason, the level that binds, its numbers and retry_after; or UNKNOWN_MODEL. A request that is
-- refused is charged nothing. Nobody overtakes: a newcomer is served after those who wait, callers taking turns.
-- Locks: permit_lock.
CREATE OR REPLACE FUNCTION camserver.permit_acquire(p_holder uuid, p_requests jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_models text[] := ARRAY(SELECT DISTINCT r->>'model' FROM jsonb_array_elements(p_requests) r);
    v_now timestamptz := permit_lock(v_models);
    v_seen timestamptz := v_now + make_interval(secs => setting_number('permit_ttl_sec')::float8);
    v_wait_ms numeric := setting_number('permit_wait_sec') * 1000;
    v_queue_max integer := setting_number('permit_queue_max');
    v_caller_max integer := setting_number('permit_queue_caller_max');
    v_request record;
    v_granted jsonb := permit_grant_free(p_holder, p_requests, v_now, v_seen);
    v_new uuid[] := '{}';
    v_refused jsonb := '{}';
    v_answers jsonb;
BEGIN
    FOR v_request IN
        SELECT (r->>'id')::uuid AS id, r->>'model' AS model, coalesce(r->>'caller', '') AS caller,
            coalesce((r->>'wait_ms')::numeric, v_wait_ms) AS wait_ms
        FROM jsonb_array_elements(p_requests) WITH ORDINALITY AS e (r, n)
        JOIN models m ON m.model = r->>'model' AND m.enabled
        WHERE NOT v_granted ? (r->>'id')
        ORDER BY e.n
    LOOP
        CONTINUE WHEN EXISTS (SELECT 1 FROM permits WHERE permit_id = v_request.id)
            OR EXISTS (SELECT 1 FROM permit_waiters WHERE permit_id = v_request.id);
        PERFORM permit_enqueue(v_request.id, v_request.model, v_request.caller, p_holder, v_now,
            v_now + v_request.wait_ms * interval '1 ms', v_seen);
        v_new := v_new || v_request.id;
    END LOOP;
    IF v_new <> '{}' THEN
        PERFORM permit_serve(v_models, p_holder, v_now, v_new);
    END IF;

    -- Who could not be served and may not wait is told so, the last first.
    FOR v_request IN
        SELECT w.permit_id, w.model, b.waiting, w.deadline_at <= v_now AS now_or_never
        FROM permit_waiters w JOIN buckets b ON b.level = 'model' AND b.name = w.model
        WHERE w.permit_id = ANY (v_new)
          AND (w.deadline_at <= v_now OR b.waiting > v_queue_max OR b.waiting > v_caller_max)
        ORDER BY w.ticket DESC
    LOOP
        -- Those after it have left the queue meanwhile.
        IF NOT v_request.now_or_never AND NOT permit_queue_over(v_request.permit_id, v_queue_max, v_caller_max) THEN
            CONTINUE;
        END IF;
        v_refused := v_refused || jsonb_build_object(v_request.permit_id, permit_refusal(v_request.permit_id, v_request.model,
            CASE WHEN v_request.now_or_never THEN 'WAIT_EXCEEDED' ELSE 'QUEUE_FULL' END, v_request.waiting, v_now));
        PERFORM permit_leave(ARRAY[v_request.permit_id], 'refused', v_now,
            (v_refused->(v_request.permit_id::text)->>'level')::limit_level);
    END LOOP;

    SELECT jsonb_agg(coalesce(v_granted->(r->>'id'), v_refused->(r->>'id'), permit_state((r->>'id')::uuid, v_now),
        jsonb_build_object('id', r->>'id', 'model', r->>'model', 'outcome', 'UNKNOWN_MODEL')) ORDER BY e.n) INTO v_answers
    FROM jsonb_array_elements(p_requests) WITH ORDINALITY AS e (r, n);
    RETURN coalesce(v_answers, '[]');
END $$;
