-- event_json(event): an event as the API shows it, its tags as ids. Internal. Locks nothing.
-- Keeps its plans, whatever its caller does with its own: it is called for every event of a page.
CREATE OR REPLACE FUNCTION camserver.event_json(p_event camserver.events) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp SET plan_cache_mode = auto AS $$
BEGIN
    RETURN jsonb_build_object(
        'event_uuid', p_event.event_uuid, 'camera_id', p_event.camera_id,
        'start_at', rfc3339(p_event.start_at), 'end_at', rfc3339(p_event.end_at),
        'last_seen_at', rfc3339(p_event.last_seen_at),
        'state', p_event.state, 'close_reason', p_event.close_reason, 'primary_event', p_event.primary_event,
        'severity_max', p_event.severity_max, 'confidence_max', p_event.confidence_max,
        'tags', (SELECT coalesce(jsonb_agg(t.tag_id ORDER BY t.tag_id), '[]')
            FROM event_tags t WHERE t.event_id = p_event.event_id),
        'best_frame_uuid', (SELECT f.frame_uuid FROM frames f WHERE f.frame_id = p_event.best_frame_id),
        'frame_count', p_event.frame_count,
        'retention_class', p_event.retention_class, 'retention_reason', p_event.retention_reason,
        'case_id', p_event.case_id, 'summary', p_event.summary);
END $$;
