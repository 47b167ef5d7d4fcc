-- Where notifications go, without secrets, and how that went lately.
CREATE OR REPLACE VIEW camserver.channel_list AS
SELECT c.name, c.kind, regexp_replace(c.url, '^([a-z]+://[^/]+).*$', '\1') AS server, c.mail_to, c.min_severity, c.daily_hour, c.enabled,
    (SELECT max(n.sent_at) FROM camserver.notifications n WHERE n.channel_id = c.channel_id AND n.state = 'sent') AS last_sent,
    (SELECT count(*) FROM camserver.notifications n WHERE n.channel_id = c.channel_id AND n.state IN ('pending', 'sending')) AS waiting,
    (SELECT count(*) FROM camserver.notifications n WHERE n.channel_id = c.channel_id AND n.state = 'dead') AS dead
FROM camserver.channels c ORDER BY c.name;
