-- console_who(user, role): the caller as the console shows them: role, name, and how they signed in (web: by the web
-- server; token; anonymous). Internal. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.console_who(p_user text, p_role camserver.caller_role) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN jsonb_build_object('role', p_role,
        'name', CASE WHEN p_user NOT LIKE 'anon:%' THEN substr(p_user, strpos(p_user, ':') + 1) END,
        'sign_in', CASE split_part(p_user, ':', 1) WHEN 'user' THEN 'web' WHEN 'token' THEN 'token' ELSE 'anonymous' END);
END $$;
