-- caller_identify(...): who is calling, and may they? Part of the one statement that each API request sends.
--   p_need         the role the route asks for
--   p_token_sha256 hash of the bearer token; if one was sent it alone decides
--   p_remote_user  the name that the web server signed in
--   p_session      hash of the anonymous session cookie; NULL where anonymous viewers are not allowed
-- Returns denied (NULL = may; UNAUTHORIZED = nobody; FORBIDDEN = somebody, wrong role), user_id, role.
-- An operator may do everything; the other roles only their own. What an operator's request changes is noted in the
-- audit under user_id: for the rest of the transaction the setting camserver.actor says so. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.caller_identify(
    p_need camserver.caller_role, p_token_sha256 bytea, p_remote_user text, p_session text,
    OUT denied text, OUT user_id text, OUT role camserver.caller_role)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_token api_tokens%ROWTYPE;
BEGIN
    IF p_token_sha256 IS NOT NULL THEN
        SELECT * INTO v_token FROM api_tokens t
        WHERE t.token_sha256 = p_token_sha256 AND t.revoked_at IS NULL
          AND (t.expires_at IS NULL OR t.expires_at > v_now);
        IF FOUND THEN
            user_id := 'token:' || v_token.name;
            role := v_token.role;
            IF v_token.last_used_at IS NULL OR v_token.last_used_at < v_now - interval '5 minutes' THEN
                UPDATE api_tokens t SET last_used_at = v_now
                WHERE t.token_id = v_token.token_id AND t.last_used_at IS NOT DISTINCT FROM v_token.last_used_at;
            END IF;
        END IF;
    ELSIF p_remote_user IS NOT NULL THEN
        user_id := 'user:' || p_remote_user;
        role := coalesce((SELECT u.role FROM users u WHERE u.user_name = p_remote_user), 'viewer');
    ELSIF p_session IS NOT NULL THEN
        user_id := 'anon:' || p_session;
        role := 'viewer';
    END IF;

    denied := CASE
        WHEN user_id IS NULL THEN 'UNAUTHORIZED'
        WHEN role <> p_need AND role <> 'operator' THEN 'FORBIDDEN' END;
    IF p_need = 'operator' AND denied IS NULL THEN
        PERFORM set_config('camserver.actor', user_id, true);
    END IF;
END $$;
