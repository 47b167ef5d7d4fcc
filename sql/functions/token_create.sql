-- token_create(name, role, sha256, valid_for): keep a new bearer token's hash. Returns its id.
-- Errors: unique_violation when a live token has that name.
CREATE OR REPLACE FUNCTION camserver.token_create(
    p_name text, p_role camserver.caller_role, p_token_sha256 bytea, p_valid_for interval DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_id integer;
BEGIN
    INSERT INTO api_tokens (name, role, token_sha256, expires_at)
    VALUES (p_name, p_role, p_token_sha256, clock_timestamp() + p_valid_for)
    RETURNING token_id INTO v_id;
    RETURN v_id;
END $$;
