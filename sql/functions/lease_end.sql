-- lease_end(server, lease, reason, at): end one lease, or with a NULL lease every dead one, on a server, give
-- the units back and log why. Internal: the caller holds the server's advisory lock.
-- A heartbeat that commits while this waits for the row keeps its lease: the row is judged again. Returns how many.
CREATE OR REPLACE FUNCTION camserver.lease_end(p_server text, p_lease uuid, p_reason text, p_at timestamptz)
RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_ended integer;
BEGIN
    WITH gone AS (
        DELETE FROM modal_leases l
        WHERE l.stream_server_id = p_server
          AND CASE WHEN p_lease IS NOT NULL THEN l.lease_id = p_lease
              ELSE l.expires_at <= p_at OR l.last_heartbeat < p_at - make_interval(secs => l.grace_sec) END
        RETURNING l.*
    ), logged AS (
        INSERT INTO modal_lease_log (lease_id, user_id, camera_id, quality, created_at, ended_at, end_reason)
        SELECT lease_id, user_id, camera_id, quality, created_at, p_at,
            coalesce(p_reason, CASE WHEN expires_at <= p_at THEN 'ttl' ELSE 'heartbeat' END)
        FROM gone
        ON CONFLICT (lease_id) DO UPDATE SET user_id = excluded.user_id, camera_id = excluded.camera_id,
            quality = excluded.quality, created_at = excluded.created_at, ended_at = excluded.ended_at,
            end_reason = excluded.end_reason
    ), summed AS (
        SELECT count(*)::integer AS n, coalesce(sum(units), 0)::integer AS units FROM gone
    ), given_back AS (
        UPDATE stream_usage u SET units_used = u.units_used - s.units, active_modals = u.active_modals - s.n
        FROM summed s WHERE u.stream_server_id = p_server AND s.n > 0
    )
    SELECT n INTO v_ended FROM summed;
    RETURN v_ended;
END $$;
