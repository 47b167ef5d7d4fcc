-- lease_epitaph(user, lease, at): what to say of a lease that is not alive: LEASE_EXPIRED with its end_reason if
-- it was this user's, swept or not; else UNKNOWN_LEASE. Internal.
CREATE OR REPLACE FUNCTION camserver.lease_epitaph(p_user text, p_lease uuid, p_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT jsonb_build_object('outcome', 'LEASE_EXPIRED', 'end_reason', end_reason)
         FROM camserver.modal_lease_log WHERE lease_id = p_lease AND user_id = p_user),
        (SELECT jsonb_build_object('outcome', 'LEASE_EXPIRED',
            'end_reason', CASE WHEN expires_at <= p_at THEN 'ttl' ELSE 'heartbeat' END)
         FROM camserver.modal_leases WHERE lease_id = p_lease AND user_id = p_user),
        jsonb_build_object('outcome', 'UNKNOWN_LEASE'))
$$;
