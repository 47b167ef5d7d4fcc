-- case_detach(user, event): the event belongs to no case any more: it and its frames are kept as long as they would
-- have been, and its images move back. What joined it meanwhile counts: the event is as strong as its strongest frame.
-- An event without a case stays as it is.
-- Returns jsonb: outcome OK with the event as event_list() shows it; UNKNOWN_EVENT.
-- Locks: advisory 'camera', the event's row, its frames.
CREATE OR REPLACE FUNCTION camserver.case_detach(p_user text, p_event uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_event events%ROWTYPE := case_lock(p_event);
    v_class retention_class;
    v_reason text;
BEGIN
    IF v_event.event_id IS NULL THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_EVENT');
    END IF;
    IF v_event.case_id IS NOT NULL THEN
        PERFORM audit_note('case.detach', p_event::text, jsonb_build_object('case_id', v_event.case_id), NULL, p_user);
        UPDATE frames SET retention_class = (retention_before->>'class')::retention_class,
            retention_reason = retention_before->>'reason', retention_before = NULL
        WHERE event_id = v_event.event_id AND retention_before IS NOT NULL;
        SELECT s.class, s.reason INTO v_class, v_reason FROM (
            SELECT (v_event.retention_before->>'class')::retention_class AS class,
                v_event.retention_before->>'reason' AS reason, 0 AS place
            UNION ALL
            SELECT f.retention_class, f.retention_reason, 1 FROM frames f WHERE f.event_id = v_event.event_id) s
        ORDER BY s.class DESC, s.place LIMIT 1;
        UPDATE events SET case_id = NULL, retention_before = NULL, retention_class = v_class,
            retention_reason = v_reason, updated_at = clock_timestamp()
        WHERE event_id = v_event.event_id RETURNING * INTO v_event;
        PERFORM case_rearchive(v_event.event_id, NULL);
    END IF;
    RETURN event_json(v_event) || jsonb_build_object('outcome', 'OK');
END $$;
