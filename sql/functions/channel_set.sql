-- channel_set(name, changes): make or change a channel. changes: jsonb of kind (webhook, slack, smtp; for a new one), url,
-- secret_file, mail_user, mail_from, mail_to (addresses divided by commas), min_severity, daily_hour, enabled; an empty
-- text takes a value away. What waits for a channel that is disabled is suppressed.
-- Returns true if the channel is new. Errors: invalid_parameter_value names what is wrong.
CREATE OR REPLACE FUNCTION camserver.channel_set(p_name text, p_changes jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_channel channels%ROWTYPE;
    v_new boolean;
    v_name text;
    v_value text;
BEGIN
    SELECT * INTO v_channel FROM channels WHERE name = p_name FOR UPDATE;
    v_new := NOT FOUND;
    IF v_new THEN
        v_channel.name := p_name;
        v_channel.min_severity := 0;
        v_channel.enabled := true;
    END IF;
    FOR v_name, v_value IN SELECT key, nullif(value, '') FROM jsonb_each_text(p_changes) LOOP
        CASE v_name
        WHEN 'kind' THEN v_channel.kind := v_value;
        WHEN 'url' THEN v_channel.url := v_value;
        WHEN 'secret_file' THEN v_channel.secret_file := v_value;
        WHEN 'mail_user' THEN v_channel.mail_user := v_value;
        WHEN 'mail_from' THEN v_channel.mail_from := v_value;
        WHEN 'mail_to' THEN
            v_channel.mail_to := string_to_array(replace(v_value, ' ', ''), ',');
            IF EXISTS (SELECT 1 FROM unnest(v_channel.mail_to) a WHERE a !~ '^[^[:space:][:cntrl:]<>@]+@[^[:space:][:cntrl:]<>@]+$') THEN
                RAISE EXCEPTION 'mail_to: "%" is not a list of addresses', v_value USING ERRCODE = 'invalid_parameter_value';
            END IF;
        WHEN 'min_severity' THEN v_channel.min_severity := v_value::smallint;
        WHEN 'daily_hour' THEN v_channel.daily_hour := v_value::smallint;
        WHEN 'enabled' THEN v_channel.enabled := v_value::boolean;
        ELSE
            RAISE EXCEPTION 'a channel has no "%"', v_name USING ERRCODE = 'invalid_parameter_value',
                HINT = 'kind, url, secret_file, mail_user, mail_from, mail_to, min_severity, daily_hour, enabled';
        END CASE;
    END LOOP;
    IF v_channel.kind IS NULL OR v_channel.url IS NULL THEN
        RAISE EXCEPTION 'a channel needs kind=webhook, slack or smtp, and url=' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v_channel.kind NOT IN ('webhook', 'slack', 'smtp') THEN
        RAISE EXCEPTION 'kind: "%" is none of webhook, slack, smtp', v_channel.kind USING ERRCODE = 'invalid_parameter_value';
    ELSIF v_channel.url !~ (CASE v_channel.kind WHEN 'smtp' THEN '^smtps?' ELSE '^https?' END || '://[^/[:space:]]+') THEN
        RAISE EXCEPTION 'url: of a channel of kind % it begins with %', v_channel.kind,
            CASE v_channel.kind WHEN 'smtp' THEN 'smtp:// or smtps://' ELSE 'http:// or https://' END
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF v_channel.kind = 'smtp' AND (v_channel.mail_from IS NULL OR v_channel.mail_to IS NULL) THEN
        RAISE EXCEPTION 'an smtp channel needs url=smtp://HOST:PORT, mail_from= and mail_to=' USING ERRCODE = 'invalid_parameter_value';
    ELSIF v_channel.kind = 'webhook' AND v_channel.secret_file IS NULL THEN
        RAISE EXCEPTION 'a webhook needs secret_file=: a file with the key of its signature' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF v_new THEN
        INSERT INTO channels (name, kind, url, secret_file, mail_user, mail_from, mail_to, min_severity, daily_hour, enabled)
        VALUES (p_name, v_channel.kind, v_channel.url, v_channel.secret_file, v_channel.mail_user, v_channel.mail_from,
            v_channel.mail_to, v_channel.min_severity, v_channel.daily_hour, v_channel.enabled);
    ELSE
        UPDATE channels SET kind = v_channel.kind, url = v_channel.url, secret_file = v_channel.secret_file,
            mail_user = v_channel.mail_user, mail_from = v_channel.mail_from, mail_to = v_channel.mail_to,
            min_severity = v_channel.min_severity, daily_hour = v_channel.daily_hour, enabled = v_channel.enabled
        WHERE channel_id = v_channel.channel_id;
    END IF;
    IF NOT v_channel.enabled THEN -- what is just being delivered still arrives
        WITH waiting AS (
            UPDATE inference_jobs j SET status = 'cancelled', finished_at = clock_timestamp(), last_error = 'the channel was disabled'
            FROM notifications n WHERE n.channel_id = v_channel.channel_id AND n.state = 'sending' AND j.job_id = n.job_id
              AND j.status IN ('queued', 'waiting') RETURNING j.job_id
        )
        UPDATE notifications n SET state = 'suppressed', reason = 'channel_disabled', updated_at = clock_timestamp()
        WHERE n.channel_id = v_channel.channel_id AND (n.state = 'pending' OR n.job_id IN (SELECT job_id FROM waiting));
    END IF;
    RETURN v_new;
END $$;
