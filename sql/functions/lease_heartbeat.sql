-- lease_heartbeat(user, lease): the viewer is still there. One in-page row update; the TTL is not extended.
-- Returns jsonb: outcome OK with remaining_sec to the TTL; LEASE_EXPIRED with end_reason for one that is over;
-- UNKNOWN_LEASE for an id that never was, or is somebody else's. Locks: the lease's row.
CREATE OR REPLACE FUNCTION camserver.lease_heartbeat(p_user text, p_lease uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_expires timestamptz;
BEGIN
    UPDATE modal_leases SET last_heartbeat = greatest(last_heartbeat, v_now)
    WHERE lease_id = p_lease AND user_id = p_user
      AND expires_at > v_now AND last_heartbeat >= v_now - make_interval(secs => grace_sec)
    RETURNING expires_at INTO v_expires;
    IF FOUND THEN
        RETURN jsonb_build_object('outcome', 'OK',
            'remaining_sec', floor(extract(epoch FROM v_expires - v_now))::integer);
    END IF;
    RETURN lease_epitaph(p_user, p_lease, v_now);
END $$;
