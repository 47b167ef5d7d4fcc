-- permit_expire(): the sweep of permits: those of silent holders go back, waiters past their deadline or of silent processes
-- leave, and whoever can be served is; the record of old calls is pruned. Returns jsonb: count, more. Locks: permit_lock.
CREATE OR REPLACE FUNCTION camserver.permit_expire() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 1000;
    v_now timestamptz := clock_timestamp();
    v_models text[];
    v_count integer;
    v_pruned integer;
BEGIN
    SELECT array_agg(DISTINCT d.model), count(*) INTO v_models, v_count FROM (
        SELECT p.model FROM permits p WHERE p.expires_at <= v_now
        UNION ALL SELECT w.model FROM permit_waiters w WHERE w.deadline_at < v_now OR w.seen_until <= v_now) d;
    IF v_models IS NOT NULL THEN
        v_now := permit_lock(v_models);
        PERFORM permit_serve(v_models, NULL, v_now);
    END IF;
    DELETE FROM permit_turns t USING buckets b WHERE b.level = 'model' AND b.name = t.model AND t.turn < b.turn;
    DELETE FROM permit_calls WHERE call_id IN (SELECT c.call_id FROM permit_calls c
        WHERE c.ended_at < v_now - make_interval(hours => setting_number('permit_calls_keep_hours')::integer) LIMIT c_batch);
    GET DIAGNOSTICS v_pruned = ROW_COUNT;
    RETURN jsonb_build_object('count', v_count + v_pruned, 'more', v_pruned = c_batch);
END $$;
