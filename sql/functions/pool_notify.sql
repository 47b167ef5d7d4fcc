-- pool_notify(holder): wake the holder, who listens on a channel of his own; NULL: wake the managers. Internal.
CREATE OR REPLACE FUNCTION camserver.pool_notify(p_holder uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM pg_notify(coalesce('cam_holder_' || replace(p_holder::text, '-', ''), 'camserver_manager'), '');
END $$;
