-- case_lock(event): the event with its camera's advisory lock held, as it is then; NULL if there is no such event.
-- Internal. Locks: advisory 'camera', then the event's row.
CREATE OR REPLACE FUNCTION camserver.case_lock(p_event uuid) RETURNS camserver.events
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_event events%ROWTYPE;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_class('camera'), c.lock_id)
    FROM events e JOIN cameras c USING (camera_id) WHERE e.event_uuid = p_event;
    SELECT * INTO v_event FROM events WHERE event_uuid = p_event FOR UPDATE;
    RETURN v_event;
END $$;
