-- manager_stop(manager): this process ends in good order. Its workers run on and may be used.
CREATE OR REPLACE FUNCTION camserver.manager_stop(p_manager uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    UPDATE managers SET stopped_at = clock_timestamp() WHERE manager_id = p_manager AND stopped_at IS NULL;
END $$;
