-- dispatcher_stop(id): this process ends in good order. What it has of permits and places in queues is given up.
CREATE OR REPLACE FUNCTION camserver.dispatcher_stop(p_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    UPDATE dispatchers SET stopped_at = clock_timestamp() WHERE dispatcher_id = p_id AND stopped_at IS NULL;
    PERFORM permit_lock(ARRAY(SELECT model FROM permits WHERE holder = p_id UNION SELECT model FROM permit_waiters WHERE holder = p_id));
    PERFORM permit_release(ARRAY(SELECT permit_id FROM permits WHERE holder = p_id AND NOT fresh), p_id);
    PERFORM permit_claim(p_id, m.model, 0) FROM (
        SELECT model FROM permits WHERE holder = p_id UNION SELECT model FROM permit_waiters WHERE holder = p_id) m;
END $$;
