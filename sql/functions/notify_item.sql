-- notify_item(notification): what may be told of an event's notification, as jsonb. Internal. Tags appear only if the
-- newest schema that has them says notify_allowed; tags that no schema has do not.
CREATE OR REPLACE FUNCTION camserver.notify_item(p_notification camserver.notifications) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_build_object(
        'event_uuid', e.event_uuid, 'camera_id', c.camera_id, 'display_name', c.display_name,
        'location_label', c.location_label, 'primary_event', p_notification.primary_event,
        'severity', p_notification.severity, 'rule', p_notification.rule, 'count', p_notification.count,
        'frame_uuid', f.frame_uuid, 'captured_at', rfc3339(f.captured_at), 'first_at', rfc3339(e.start_at),
        'archive_path', (SELECT o.path FROM archive_objects o WHERE o.frame_id = f.frame_id AND o.removed_at IS NULL AND o.driver = 'dir'),
        'tags', (SELECT coalesce(jsonb_agg(jsonb_build_object('tag_id', t.tag_id, 'label_ja', s.label_ja) ORDER BY t.tag_id), '[]')
            FROM frame_tags t CROSS JOIN LATERAL (
                SELECT st.label_ja, st.notify_allowed FROM schema_tags st JOIN schema_versions v USING (schema_version)
                WHERE st.tag_id = t.tag_id ORDER BY v.created_at DESC LIMIT 1) s
            WHERE t.frame_id = f.frame_id AND s.notify_allowed))
    FROM cameras c, events e LEFT JOIN frames f ON f.frame_id = p_notification.frame_id
    WHERE c.camera_id = p_notification.camera_id AND e.event_id = p_notification.event_id);
END $$;
