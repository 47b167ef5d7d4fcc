-- lease_grant(...): write a decided lease and take its units. Internal: the caller holds the server's advisory
-- lock and has checked. The same user asking on two servers at once meets the unique user_id: the later one is
-- refused. A lease_id that somebody already uses is refused as BAD_LEASE_ID.
CREATE OR REPLACE FUNCTION camserver.lease_grant(
    p_user text, p_camera text, p_server camserver.stream_servers, p_quality camserver.stream_quality,
    p_cost integer, p_budget integer, p_stream_url text, p_lease_id uuid, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_lease modal_leases%ROWTYPE;
BEGIN
    INSERT INTO modal_leases (lease_id, user_id, camera_id, stream_server_id, quality, units, grace_sec,
        created_at, expires_at, last_heartbeat)
    VALUES (p_lease_id, p_user, p_camera, p_server.stream_server_id, p_quality, p_cost, p_server.heartbeat_grace_sec,
        p_at, p_at + make_interval(secs => p_server.modal_ttl_sec), p_at)
    ON CONFLICT DO NOTHING
    RETURNING * INTO v_lease;
    IF NOT FOUND THEN
        SELECT * INTO v_lease FROM modal_leases WHERE user_id = p_user;
        RETURN CASE WHEN FOUND
            THEN jsonb_build_object('outcome', 'USER_ALREADY_HAS_MODAL', 'retry_after', 1,
                'lease_id', v_lease.lease_id, 'camera_id', v_lease.camera_id)
            ELSE jsonb_build_object('outcome', 'BAD_LEASE_ID') END;
    END IF;

    UPDATE stream_usage SET
        units_cap = p_budget,
        units_used = units_used + p_cost,
        active_modals = active_modals + 1,
        next_dead_at = least(next_dead_at, v_lease.expires_at, p_at + make_interval(secs => v_lease.grace_sec))
    WHERE stream_server_id = p_server.stream_server_id;
    RETURN lease_answer(v_lease, p_stream_url, p_server.heartbeat_interval_sec);
END $$;
