-- event_close_stale(): close open events without a detection for event_close_grace_sec. One that is being extended at
-- this moment is left for the next time. Returns jsonb: count, more.
CREATE OR REPLACE FUNCTION camserver.event_close_stale() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 1000;
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - make_interval(secs => setting_number('event_close_grace_sec')::float8);
    v_count integer;
BEGIN
    UPDATE events SET state = 'closed', end_at = last_seen_at, close_reason = 'stale', updated_at = v_now
    WHERE event_id IN (SELECT event_id FROM events WHERE state = 'open' AND last_seen_at < v_before
        LIMIT c_batch FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN jsonb_build_object('count', v_count, 'more', v_count = c_batch);
END $$;
