-- lease_epitaph(user, lease, at): what to say of a lease that is not alive: LEASE_EXPIRED with its end_reason if
-- it was this user's, swept or not; else UNKNOWN_LEASE. Internal.
CREATE OR REPLACE FUNCTION camserver.lease_epitaph(p_user text, p_lease uuid, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_reason text;
BEGIN
    SELECT end_reason INTO v_reason FROM camserver.modal_lease_log WHERE lease_id = p_lease AND user_id = p_user;
    IF NOT FOUND THEN
        SELECT CASE WHEN expires_at <= p_at THEN 'ttl' ELSE 'heartbeat' END INTO v_reason
        FROM camserver.modal_leases WHERE lease_id = p_lease AND user_id = p_user;
    END IF;
    IF v_reason IS NULL THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_LEASE');
    END IF;
    RETURN jsonb_build_object('outcome', 'LEASE_EXPIRED', 'end_reason', v_reason);
END $$;
