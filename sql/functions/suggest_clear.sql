-- suggest_clear(): end the current suggestion now; the pause starts. Returns false when there was none.
-- Locks: the advisory lock 'suggest'.
CREATE OR REPLACE FUNCTION camserver.suggest_clear() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(lock_class('suggest'), 0);
    UPDATE suggest_state SET expires_at = clock_timestamp() WHERE expires_at > clock_timestamp();
    RETURN FOUND;
END $$;
