-- channel_test(name): queue a test message. Returns the notification, whose state tells what became of it.
CREATE OR REPLACE FUNCTION camserver.channel_test(p_name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_channel integer;
BEGIN
    SELECT channel_id INTO v_channel FROM channels WHERE name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no channel "%"', p_name USING ERRCODE = 'undefined_object', HINT = 'camctl channel list shows them all.';
    END IF;
    RETURN notify_send(v_channel, 'test', '{}');
END $$;
