-- lease_sweep_server(server, at): end all dead leases of one server and learn when the next can be dead.
-- Internal: the caller holds the server's advisory lock. Returns how many ended.
CREATE OR REPLACE FUNCTION camserver.lease_sweep_server(p_server text, p_at timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_ended integer := lease_end(p_server, NULL, NULL, p_at);
BEGIN
    UPDATE stream_usage SET next_dead_at = coalesce((
        SELECT min(least(l.expires_at, l.last_heartbeat + make_interval(secs => l.grace_sec)))
        FROM modal_leases l WHERE l.stream_server_id = p_server), 'infinity')
    WHERE stream_server_id = p_server;
    RETURN v_ended;
END $$;
