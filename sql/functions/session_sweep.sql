-- session_sweep(): count the active viewers once for everybody, and forget the long gone. Returns
-- jsonb: count, and more as expire_run() has it.
CREATE OR REPLACE FUNCTION camserver.session_sweep() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_active integer;
    v_gone jsonb;
BEGIN
    v_gone := expire_run(ARRAY[expire_rows('ui_sessions', format('last_seen_at < %L', v_now - interval '1 hour'))]);
    SELECT count(*) INTO v_active FROM ui_sessions
    WHERE last_seen_at > v_now - make_interval(secs => setting_number('ui_active_sec')::float8);
    UPDATE suggest_state SET active_ui_users = v_active WHERE active_ui_users <> v_active;
    RETURN jsonb_build_object('count', v_active, 'more', v_gone->'more');
END $$;
