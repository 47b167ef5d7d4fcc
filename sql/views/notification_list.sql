-- What was told to whom, what was not, and why; newest first.
CREATE OR REPLACE VIEW camserver.notification_list AS
SELECT n.notification_id, c.name AS channel, n.kind, n.state, n.reason, n.camera_id, n.primary_event, n.severity, n.rule, n.count,
    n.created_at, n.sent_at, j.attempt, j.last_error
FROM camserver.notifications n JOIN camserver.channels c USING (channel_id)
LEFT JOIN camserver.inference_jobs j ON j.job_id = n.job_id
ORDER BY n.notification_id DESC;
