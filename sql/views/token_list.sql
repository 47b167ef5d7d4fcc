-- token_list: API tokens without their secrets.
CREATE VIEW camserver.token_list AS
SELECT token_id, name, role, created_at, expires_at, last_used_at,
    CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
         WHEN expires_at <= clock_timestamp() THEN 'expired'
         ELSE 'live' END AS state
FROM camserver.api_tokens
ORDER BY token_id;
