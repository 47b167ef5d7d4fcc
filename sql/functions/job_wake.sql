-- job_wake(): there is work; if a dispatcher sleeps, wake it when this transaction commits. Internal.
CREATE OR REPLACE FUNCTION camserver.job_wake() RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM 1 FROM dispatchers WHERE idle AND stopped_at IS NULL
        AND last_heartbeat > clock_timestamp() - make_interval(secs => setting_number('dispatcher_stale_sec')::float8)
    LIMIT 1;
    IF FOUND THEN
        PERFORM pg_notify('camserver_jobs', '');
    END IF;
END $$;
