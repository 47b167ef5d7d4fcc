-- permit_renew(holder, ids): the process lives: these permits and places in queues of its last for another permit_ttl_sec,
-- or all of them. What it does not name it has forgotten: that runs out. So does stay what has run out already. Returns how
-- many were renewed. Locks: their rows only.
CREATE OR REPLACE FUNCTION camserver.permit_renew(p_holder uuid, p_ids uuid[] DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + make_interval(secs => setting_number('permit_ttl_sec')::float8);
    v_permits integer;
    v_waiters integer;
BEGIN
    UPDATE permits SET expires_at = v_until WHERE holder = p_holder AND expires_at > v_now
        AND (p_ids IS NULL OR permit_id = ANY (p_ids));
    GET DIAGNOSTICS v_permits = ROW_COUNT;
    UPDATE permit_waiters SET seen_until = v_until WHERE holder = p_holder AND seen_until > v_now
        AND (p_ids IS NULL OR permit_id = ANY (p_ids));
    GET DIAGNOSTICS v_waiters = ROW_COUNT;
    RETURN v_permits + v_waiters;
END $$;
