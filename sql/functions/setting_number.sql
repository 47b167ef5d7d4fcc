-- setting_number(name): a numeric tunable. An unknown name is an error, not NULL: a typing error must not
-- switch a limit off.
CREATE OR REPLACE FUNCTION camserver.setting_number(p_name text) RETURNS numeric
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_value text;
BEGIN
    SELECT value INTO v_value FROM settings WHERE name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no setting "%"', p_name USING ERRCODE = 'undefined_object';
    END IF;
    RETURN v_value::numeric;
END $$;
