-- lease_release(user, lease, reason): give a lease back. With a NULL user (an operator) anybody's.
-- Returns jsonb: outcome OK, also for a lease of this user that is over already; else UNKNOWN_LEASE.
-- Locks: the advisory lock 'stream' of the lease's server.
CREATE OR REPLACE FUNCTION camserver.lease_release(p_user text, p_lease uuid, p_reason text DEFAULT 'released')
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_server text;
    v_lock integer;
BEGIN
    SELECT s.stream_server_id, s.lock_id INTO v_server, v_lock
    FROM modal_leases l JOIN stream_servers s USING (stream_server_id)
    WHERE l.lease_id = p_lease AND (p_user IS NULL OR l.user_id = p_user);
    IF FOUND THEN
        PERFORM pg_advisory_xact_lock(lock_class('stream'), v_lock);
        IF lease_end(v_server, p_lease, p_reason, clock_timestamp()) > 0 THEN
            RETURN jsonb_build_object('outcome', 'OK');
        END IF;
    END IF;
    PERFORM 1 FROM modal_lease_log WHERE lease_id = p_lease AND (p_user IS NULL OR user_id = p_user);
    RETURN jsonb_build_object('outcome', CASE WHEN FOUND THEN 'OK' ELSE 'UNKNOWN_LEASE' END);
END $$;
