-- event_get(event): an event with its tags in full and its frames, as GET /api/events/{uuid} answers it.
-- Returns jsonb: outcome OK with what event_list() shows, tags as objects, the newest 500 frames in the order of time
-- and whether each is in the archive, the newest 100 notifications, and the language model's review or null;
-- UNKNOWN_EVENT. A tag's label is the newest schema's that has the tag. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.event_get(p_event_uuid uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_frames CONSTANT integer := 500;
    c_notifications CONSTANT integer := 100;
    v_event events%ROWTYPE;
    v_tags jsonb;
    v_frames jsonb;
    v_notifications jsonb;
    v_review jsonb;
BEGIN
    SELECT * INTO v_event FROM events WHERE event_uuid = p_event_uuid;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_EVENT');
    END IF;
    SELECT coalesce(jsonb_agg(jsonb_build_object('tag_id', t.tag_id, 'tag_group', t.tag_group, 'label_ja', (
        SELECT s.label_ja FROM schema_tags s JOIN schema_versions v USING (schema_version)
        WHERE s.tag_id = t.tag_id ORDER BY v.created_at DESC LIMIT 1)) ORDER BY t.tag_id), '[]')
    INTO v_tags FROM event_tags t WHERE t.event_id = v_event.event_id;
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'frame_uuid', f.frame_uuid, 'captured_at', rfc3339(f.captured_at), 'severity', f.severity,
        'confidence', f.confidence, 'primary_event', f.primary_event, 'tags', coalesce(f.tags_json, '[]'),
        'bboxes', CASE WHEN jsonb_typeof(f.result_json->'bboxes') = 'array' THEN f.result_json->'bboxes' ELSE '[]' END,
        'count_hint', f.count_hint, 'archived', EXISTS (SELECT 1 FROM archive_objects o
            WHERE o.frame_id = f.frame_id AND o.removed_at IS NULL)) ORDER BY f.captured_at, f.frame_id), '[]')
    INTO v_frames FROM (
        SELECT * FROM frames WHERE event_id = v_event.event_id ORDER BY captured_at DESC LIMIT c_frames) f;
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'channel', c.name, 'state', n.state, 'reason', n.reason, 'count', n.count, 'severity', n.severity,
        'created_at', rfc3339(n.created_at), 'sent_at', rfc3339(n.sent_at)) ORDER BY n.notification_id), '[]')
    INTO v_notifications FROM (
        SELECT * FROM notifications WHERE event_id = v_event.event_id
        ORDER BY notification_id DESC LIMIT c_notifications) n JOIN channels c USING (channel_id);
    SELECT jsonb_build_object('outcome', r.outcome, 'reason', r.reason, 'summary', r.summary, 'model', r.model)
    INTO v_review FROM llm_reviews r WHERE r.event_id = v_event.event_id;
    RETURN event_json(v_event) || jsonb_build_object('outcome', 'OK', 'tags', v_tags, 'frames', v_frames,
        'notifications', v_notifications, 'review', v_review);
END $$;
