-- session_touch(user): this viewer is looking. Writes only when the last note of it is old, so that polling
-- stays a read. API tokens are programs, not viewers.
CREATE OR REPLACE FUNCTION camserver.session_touch(p_user text) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    IF p_user IS NULL OR p_user LIKE 'token:%' THEN
        RETURN;
    END IF;
    PERFORM 1 FROM ui_sessions WHERE user_id = p_user AND last_seen_at > v_now - interval '15 seconds';
    IF NOT FOUND THEN
        INSERT INTO ui_sessions (user_id, first_seen_at, last_seen_at) VALUES (p_user, v_now, v_now)
        ON CONFLICT (user_id) DO UPDATE SET last_seen_at = greatest(ui_sessions.last_seen_at, excluded.last_seen_at);
    END IF;
END $$;
