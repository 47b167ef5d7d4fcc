-- setting_set(name, value): change a tunable. Returns the value it had before.
-- Errors: undefined_object for an unknown name, invalid_parameter_value for a value out of its kind or bounds.
CREATE OR REPLACE FUNCTION camserver.setting_set(p_name text, p_value text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_before text;
BEGIN
    SELECT value INTO v_before FROM settings WHERE name = p_name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no setting "%"', p_name
            USING ERRCODE = 'undefined_object', HINT = 'camctl setting list shows them all.';
    END IF;
    UPDATE settings SET value = p_value WHERE name = p_name;
    RETURN v_before;
END $$;
