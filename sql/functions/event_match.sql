-- event_match(camera, primary_event, captured_at, gap): the event that a detection belongs to, or NULL. Internal: the
-- caller holds the camera's advisory lock. The open event of the same kind whose time reaches within gap of the frame;
-- and for a frame that comes late - before the end of what is known, or when nothing is open - a closed one.
CREATE OR REPLACE FUNCTION camserver.event_match(
    p_open camserver.events, p_camera text, p_primary_event text, p_captured_at timestamptz, p_gap interval) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp AS $$
DECLARE
    v_event bigint;
BEGIN
    IF p_open.primary_event = p_primary_event
       AND p_captured_at BETWEEN p_open.start_at - p_gap AND p_open.last_seen_at + p_gap THEN
        RETURN p_open.event_id;
    END IF;
    -- In order, and of another kind or too long after: the specification's new event.
    IF p_captured_at >= p_open.last_seen_at THEN
        RETURN NULL;
    END IF;
    -- Of a camera's events before that time only the last few can reach it. What came between stays between: one is
    -- not made longer across the beginning of another kind's.
    SELECT e.event_id INTO v_event FROM (
        SELECT * FROM events c WHERE c.camera_id = p_camera AND c.start_at <= p_captured_at + p_gap
        ORDER BY c.start_at DESC LIMIT 20) e
    WHERE e.state = 'closed' AND e.primary_event = p_primary_event AND p_captured_at <= e.end_at + p_gap
      AND NOT EXISTS (SELECT 1 FROM events o WHERE o.camera_id = p_camera AND o.primary_event <> p_primary_event
          AND o.start_at > e.end_at AND o.start_at <= p_captured_at)
    ORDER BY e.start_at DESC LIMIT 1;
    RETURN v_event;
END $$;
