-- notify_daily(): for each channel that wants a daily summary and whose hour has come today (setting summary_timezone):
-- the events of the 24 hours before that hour, by camera and kind, queued as one message. The note that the day is
-- done is in the same transaction. p_now: the time to judge by. Returns jsonb: count, more.
CREATE OR REPLACE FUNCTION camserver.notify_daily(p_now timestamptz DEFAULT clock_timestamp()) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_zone text := coalesce(nullif((SELECT value FROM settings WHERE name = 'summary_timezone'), ''), current_setting('TimeZone'));
    v_local timestamp := p_now AT TIME ZONE v_zone;
    v_channel channels%ROWTYPE;
    v_until timestamptz;
    v_facts jsonb;
    v_count integer := 0;
BEGIN
    FOR v_channel IN SELECT * FROM channels
        WHERE enabled AND daily_hour IS NOT NULL AND (daily_done IS NULL OR daily_done < v_local::date)
          AND extract(hour FROM v_local) >= daily_hour
        ORDER BY channel_id FOR UPDATE SKIP LOCKED
    LOOP
        v_until := (v_local::date + make_interval(hours => v_channel.daily_hour)) AT TIME ZONE v_zone;
        SELECT jsonb_build_object('since', rfc3339(v_until - interval '24 h'), 'until', rfc3339(v_until),
            'total', coalesce(sum(k.events), 0), 'items', coalesce(jsonb_agg(to_jsonb(k) ORDER BY k.severity DESC, k.events DESC), '[]'))
        INTO v_facts FROM (
            SELECT c.camera_id, c.display_name, e.primary_event, count(*) AS events, max(e.severity_max) AS severity
            FROM events e JOIN cameras c USING (camera_id)
            WHERE e.start_at >= v_until - interval '24 h' AND e.start_at < v_until
            GROUP BY c.camera_id, c.display_name, e.primary_event
            ORDER BY max(e.severity_max) DESC, count(*) DESC LIMIT 100) k;
        PERFORM notify_send(v_channel.channel_id, 'daily', v_facts);
        UPDATE channels SET daily_done = v_local::date WHERE channel_id = v_channel.channel_id;
        v_count := v_count + 1;
    END LOOP;
    RETURN jsonb_build_object('count', v_count, 'more', false);
END $$;
