-- token_revoke(name): the live token of that name stops working at once. Returns false when there is none.
CREATE OR REPLACE FUNCTION camserver.token_revoke(p_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    UPDATE api_tokens SET revoked_at = clock_timestamp() WHERE name = p_name AND revoked_at IS NULL;
    RETURN FOUND;
END $$;
