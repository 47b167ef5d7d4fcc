-- dispatcher_register(id, host, pid, version, stream_server): a dispatcher process starts. The stream server it
-- names learns its host if it had none, so that the host's overload refuses its leases.
CREATE OR REPLACE FUNCTION camserver.dispatcher_register(
    p_id uuid, p_host text, p_pid integer, p_version text, p_stream_server text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    INSERT INTO dispatchers (dispatcher_id, host, pid, version, started_at, last_heartbeat)
    VALUES (p_id, p_host, p_pid, p_version, v_now, v_now)
    ON CONFLICT (dispatcher_id) DO UPDATE SET last_heartbeat = v_now, stopped_at = NULL;
    UPDATE stream_servers SET host = p_host WHERE stream_server_id = p_stream_server AND host IS NULL;
END $$;
