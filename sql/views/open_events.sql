-- open_events: what is going on now, by camera.
CREATE VIEW camserver.open_events AS
SELECT e.event_uuid, e.camera_id, c.display_name, e.primary_event, e.severity_max, e.frame_count,
    date_trunc('second', e.last_seen_at - e.start_at) AS lasted,
    round(extract(epoch FROM clock_timestamp() - e.last_seen_at), 1) AS last_seen_age_sec,
    e.retention_class, e.retention_reason, f.frame_uuid AS best_frame_uuid
FROM camserver.events e JOIN camserver.cameras c USING (camera_id)
LEFT JOIN camserver.frames f ON f.frame_id = e.best_frame_id
WHERE e.state = 'open'
ORDER BY e.start_at;
