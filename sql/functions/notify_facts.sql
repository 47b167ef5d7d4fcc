-- notify_facts(notification): all that the dispatcher needs to deliver it, as jsonb: the channel, the message, and what
-- it tells. Internal.
CREATE OR REPLACE FUNCTION camserver.notify_facts(p_notification bigint) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    c_items CONSTANT integer := 50;
    v_this notifications%ROWTYPE;
    v_facts jsonb;
BEGIN
    SELECT * INTO v_this FROM notifications WHERE notification_id = p_notification;
    SELECT jsonb_build_object('channel', jsonb_build_object('name', c.name, 'kind', c.kind, 'url', c.url,
            'secret_file', c.secret_file, 'mail_user', c.mail_user, 'mail_from', c.mail_from, 'mail_to', c.mail_to),
        'message_uuid', v_this.message_uuid, 'kind', v_this.kind, 'created_at', rfc3339(v_this.created_at),
        'language', (SELECT value FROM settings WHERE name = 'notify_language'),
        'link_sec', setting_number('notify_link_sec'))
    INTO v_facts FROM channels c WHERE c.channel_id = v_this.channel_id;
    RETURN v_facts || CASE v_this.kind
        WHEN 'event' THEN notify_item(v_this)
        WHEN 'summary' THEN jsonb_build_object('severity', v_this.severity,
            'total', (SELECT count(*) FROM notifications WHERE summary_id = v_this.notification_id AND channel_id = v_this.channel_id
                AND state = 'summarised'),
            'items', (SELECT jsonb_agg(notify_item(i) ORDER BY i.notification_id) FROM (
                SELECT n.* FROM notifications n WHERE n.summary_id = v_this.notification_id AND n.channel_id = v_this.channel_id
                  AND n.state = 'summarised' ORDER BY n.severity DESC, n.notification_id LIMIT c_items) i))
        ELSE coalesce(v_this.facts, '{}') END;
END $$;
