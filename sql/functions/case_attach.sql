-- case_attach(user, event, case): the event belongs to this case: it and its frames are kept for ever, and its images
-- move to the case's folder. What they were before is kept for case_detach(). An event of another case moves to
-- this one; the same again changes nothing but takes in frames that have joined the event since. What expires at the
-- same moment is either kept or gone: the frames' locks decide (archive_expire, spool_expire), and images_gone tells.
-- Returns jsonb: outcome OK with the event as event_list() shows it and images_gone, how many of its frames have no image
-- any more; UNKNOWN_EVENT; BAD_CASE_ID.
-- Locks: advisory 'camera', the event's row, its frames.
CREATE OR REPLACE FUNCTION camserver.case_attach(p_user text, p_event uuid, p_case text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_event events%ROWTYPE;
    v_moved boolean;
    v_joined bigint[];
    v_gone integer;
BEGIN
    IF p_case IS NULL OR p_case !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' THEN
        RETURN jsonb_build_object('outcome', 'BAD_CASE_ID');
    END IF;
    v_event := case_lock(p_event);
    IF v_event.event_id IS NULL THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_EVENT');
    END IF;
    v_moved := v_event.case_id IS DISTINCT FROM p_case;
    IF v_moved THEN
        PERFORM audit_note('case.attach', p_event::text, jsonb_build_object('case_id', v_event.case_id),
            jsonb_build_object('case_id', p_case), p_user);
        UPDATE events SET case_id = p_case, retention_class = 'case', retention_reason = 'case',
            updated_at = clock_timestamp(), retention_before = coalesce(retention_before, jsonb_build_object('class', retention_class,
                'reason', retention_reason)) || jsonb_build_object('by', p_user)
        WHERE event_id = v_event.event_id RETURNING * INTO v_event;
    END IF;
    WITH joined AS (
        UPDATE frames SET retention_class = 'case', retention_reason = 'case',
            retention_before = jsonb_build_object('class', retention_class, 'reason', retention_reason)
        WHERE event_id = v_event.event_id AND retention_before IS NULL RETURNING frame_id)
    SELECT coalesce(array_agg(frame_id), '{}') INTO v_joined FROM joined;
    PERFORM case_rearchive(v_event.event_id, CASE WHEN NOT v_moved THEN v_joined END);
    SELECT count(*) INTO v_gone FROM frames f WHERE f.event_id = v_event.event_id AND f.image_removed_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM archive_objects o WHERE o.frame_id = f.frame_id AND o.removed_at IS NULL);
    RETURN event_json(v_event) || jsonb_build_object('outcome', 'OK', 'images_gone', v_gone);
END $$;
