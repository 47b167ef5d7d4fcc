-- permit_renew(holder): the process lives: its permits and its places in queues last for another permit_ttl_sec. What has
-- run out already stays so. Returns how many it has. Locks: their rows only.
CREATE OR REPLACE FUNCTION camserver.permit_renew(p_holder uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + make_interval(secs => setting_number('permit_ttl_sec')::float8);
    v_permits integer;
    v_waiters integer;
BEGIN
    UPDATE permits SET expires_at = v_until WHERE holder = p_holder AND expires_at > v_now;
    GET DIAGNOSTICS v_permits = ROW_COUNT;
    UPDATE permit_waiters SET seen_until = v_until WHERE holder = p_holder AND seen_until > v_now;
    GET DIAGNOSTICS v_waiters = ROW_COUNT;
    RETURN v_permits + v_waiters;
END $$;
