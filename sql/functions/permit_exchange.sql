-- permit_exchange(holder, news): all that a process has to say about permits and all that it has to be told, in one round
-- trip and one transaction, however many threads it speaks for.
--   p_news  {"release": [uuid], "cancel": as permit_cancel takes it, "ask": as permit_acquire takes it, "renew": [uuid],
--           "stock": as permit_stock takes it, "report": as permit_stock_report takes it}; all but release may be absent
--           an element of ask without "caller" says who is calling as caller_identify takes it ("token", "remote_user",
--           "session"; any role will do); with "list" it only wants to know the models; with "nodes_of" only the nodes of
--           that model, as node_candidates gives them; with "nodes" true the answer has them too if it is GRANTED
-- Returns jsonb: answers (an array, of ask, cancel and stock, in that order), granted and next_ms as permit_poll, renew_ms: how
-- often to renew, backpressure: the limits of those who wait (max of 0: as many as the process has threads).
-- Locks: permit_lock of all models concerned at once.
CREATE OR REPLACE FUNCTION camserver.permit_exchange(p_holder uuid, p_news jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_release uuid[] := ARRAY(SELECT jsonb_array_elements_text(p_news->'release')::uuid);
    v_ending uuid[] := v_release || ARRAY(SELECT (jsonb_array_elements(p_news->'report')->>'id')::uuid);
    v_models text[];
    v_now timestamptz;
    v_answers jsonb := '[]';
    v_asks jsonb := '[]';
    v_ask jsonb;
    v_who record;
    v_polled jsonb;
    v_limits jsonb;
BEGIN
    FOR v_ask IN SELECT jsonb_array_elements(p_news->'ask') LOOP
        IF v_ask ? 'nodes_of' THEN
            v_answers := v_answers || jsonb_build_object('id', v_ask->'id', 'outcome', 'OK',
                'nodes', node_candidates(v_ask->>'nodes_of'));
            CONTINUE;
        ELSIF v_ask ? 'caller' THEN
            v_asks := v_asks || v_ask;
            CONTINUE;
        END IF;
        SELECT * INTO v_who FROM caller_identify('viewer', (v_ask->>'token')::bytea, v_ask->>'remote_user', v_ask->>'session');
        IF v_who.user_id IS NULL THEN
            v_answers := v_answers || jsonb_build_object('id', v_ask->'id', 'outcome', 'UNAUTHORIZED');
        ELSIF v_ask ? 'list' THEN
            v_answers := v_answers || (model_list() || jsonb_build_object('id', v_ask->'id'));
        ELSE
            v_asks := v_asks || (v_ask || jsonb_build_object('caller', v_who.user_id));
        END IF;
    END LOOP;
    v_now := permit_lock(ARRAY(
        SELECT r->>'model' FROM jsonb_array_elements(v_asks || coalesce(p_news->'cancel', '[]') || coalesce(p_news->'stock', '[]')) r
        UNION SELECT p.model FROM permits p WHERE p.permit_id = ANY (v_ending)
        UNION SELECT w.model FROM permit_waiters w WHERE w.holder = p_holder),
        ARRAY(SELECT unnest(p.bucket_ids) FROM permits p WHERE p.permit_id = ANY (v_ending)));
    IF p_news ? 'renew' THEN
        PERFORM permit_renew(p_holder, ARRAY(SELECT jsonb_array_elements_text(p_news->'renew')::uuid));
    END IF;
    PERFORM permit_release(v_release, p_holder);
    IF jsonb_array_length(p_news->'report') > 0 THEN
        v_models := ARRAY(SELECT DISTINCT p.model FROM permits p WHERE p.permit_id = ANY (v_ending));
        PERFORM permit_stock_report(p_holder, p_news->'report', v_now);
        IF EXISTS (SELECT 1 FROM permit_waiters) THEN
            PERFORM permit_serve(v_models, p_holder, v_now);
        END IF;
    END IF;
    IF v_asks <> '[]' THEN
        v_answers := v_answers || (SELECT jsonb_agg(CASE WHEN (r->>'nodes')::boolean AND a->>'outcome' = 'GRANTED'
                THEN a || jsonb_build_object('nodes', node_candidates(a->>'model')) ELSE a END ORDER BY n)
            FROM ROWS FROM (jsonb_array_elements(permit_acquire(p_holder, v_asks)), jsonb_array_elements(v_asks))
                WITH ORDINALITY AS x (a, r, n));
    END IF;
    IF jsonb_array_length(p_news->'cancel') > 0 THEN
        v_answers := v_answers || permit_cancel(p_news->'cancel', p_holder);
    END IF;
    IF jsonb_array_length(p_news->'stock') > 0 THEN
        v_answers := v_answers || permit_stock(p_holder, p_news->'stock', v_now,
            v_now + make_interval(secs => setting_number('permit_ttl_sec')::float8));
    END IF;
    v_polled := permit_poll(p_holder);
    SELECT jsonb_object_agg(CASE name WHEN 'gateway_queue_max' THEN 'max' ELSE replace(name, 'backpressure_', '') END, value::numeric)
    INTO v_limits FROM settings
    WHERE name IN ('gateway_queue_max', 'backpressure_warning_percent', 'backpressure_overload_percent', 'backpressure_delay_ms');
    RETURN v_polled || jsonb_build_object('answers', v_answers, 'renew_ms', round(setting_number('permit_ttl_sec') * 1000 / 3),
        'backpressure', v_limits);
END $$;
