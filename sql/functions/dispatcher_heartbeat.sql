-- dispatcher_heartbeat(id): this process lives. Returns false if it is not registered (any more): register again.
CREATE OR REPLACE FUNCTION camserver.dispatcher_heartbeat(p_id uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    UPDATE dispatchers SET last_heartbeat = clock_timestamp() WHERE dispatcher_id = p_id AND stopped_at IS NULL;
    RETURN FOUND;
END $$;
