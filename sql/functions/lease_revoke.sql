-- lease_revoke(lease): an operator takes a lease away; its next heartbeat answers 410 with reason revoked.
-- Returns false when there is no such live lease.
CREATE OR REPLACE FUNCTION camserver.lease_revoke(p_lease uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM 1 FROM modal_leases WHERE lease_id = p_lease;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    RETURN lease_release(NULL, p_lease, 'revoked')->>'outcome' = 'OK';
END $$;
