-- session_sweep(): count the active viewers once for everybody, and forget the long gone. Returns the count.
CREATE OR REPLACE FUNCTION camserver.session_sweep() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_active integer;
    v_gone integer;
BEGIN
    DELETE FROM ui_sessions WHERE user_id IN (
        SELECT user_id FROM ui_sessions WHERE last_seen_at < v_now - interval '1 hour' LIMIT 5000);
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    SELECT count(*) INTO v_active FROM ui_sessions
    WHERE last_seen_at > v_now - make_interval(secs => setting_number('ui_active_sec')::float8);
    UPDATE suggest_state SET active_ui_users = v_active WHERE active_ui_users <> v_active;
    RETURN jsonb_build_object('count', v_active, 'more', v_gone = 5000);
END $$;
