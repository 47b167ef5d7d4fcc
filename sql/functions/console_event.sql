-- console_event(user, role, event): one event with all that the console shows of it: what event_get() gives, the camera's name,
-- the labels of every tag of its frames, until when it is kept (null: for ever, or while it is open), who attached the case,
-- and of the notifications the rule that asked for them. As GET /api/console/events/{uuid} answers it.
-- Returns jsonb: outcome OK, UNKNOWN_EVENT. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.console_event(p_user text, p_role camserver.caller_role, p_event uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_answer jsonb := event_get(p_event);
    v_event events%ROWTYPE;
    v_keep_days integer;
BEGIN
    IF v_answer->>'outcome' <> 'OK' THEN
        RETURN v_answer;
    END IF;
    SELECT * INTO v_event FROM events WHERE event_uuid = p_event;
    v_keep_days := CASE v_event.retention_class WHEN 'normal' THEN setting_number('keep_normal_days')
        WHEN 'quarantine' THEN setting_number('keep_quarantine_days') END;
    RETURN v_answer || jsonb_build_object('who', console_who(p_user, p_role),
        'display_name', (SELECT c.display_name FROM cameras c WHERE c.camera_id = v_event.camera_id),
        'location_label', (SELECT c.location_label FROM cameras c WHERE c.camera_id = v_event.camera_id),
        'keep_days', v_keep_days, 'kept_until', rfc3339(v_event.end_at + make_interval(days => v_keep_days)),
        'case_by', v_event.retention_before->>'by',
        'labels', tag_labels(ARRAY(SELECT t.tag_id FROM event_tags t WHERE t.event_id = v_event.event_id
            UNION SELECT t FROM jsonb_array_elements(v_answer->'frames') f, jsonb_array_elements_text(f->'tags') t)),
        'notification_rules', (SELECT coalesce(jsonb_agg(DISTINCT n.rule), '[]') FROM notifications n
            WHERE n.event_id = v_event.event_id AND n.rule IS NOT NULL));
END $$;
