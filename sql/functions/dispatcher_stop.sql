-- dispatcher_stop(id): this process ends in good order.
CREATE OR REPLACE FUNCTION camserver.dispatcher_stop(p_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    UPDATE dispatchers SET stopped_at = clock_timestamp() WHERE dispatcher_id = p_id AND stopped_at IS NULL;
END $$;
