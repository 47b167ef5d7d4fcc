-- settings_check(): trigger that keeps every tunable of its declared kind and within its bounds, and tells the
-- person at psql what would be right.
CREATE OR REPLACE FUNCTION camserver.settings_check() RETURNS trigger
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_number numeric;
BEGIN
    IF NEW.kind IN ('integer', 'number') THEN
        IF NEW.value !~ '^-?[0-9]{1,15}(\.[0-9]{1,9})?$' OR (NEW.kind = 'integer' AND NEW.value ~ '\.') THEN
            RAISE EXCEPTION 'setting %: "%" is not %', NEW.name, NEW.value,
                CASE NEW.kind WHEN 'integer' THEN 'a whole number' ELSE 'a number' END
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        v_number := NEW.value::numeric;
        IF v_number < NEW.min_value OR v_number > NEW.max_value THEN
            RAISE EXCEPTION 'setting %: % is not between % and %', NEW.name, NEW.value, NEW.min_value, NEW.max_value
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
    ELSIF NEW.kind = 'boolean' AND NEW.value NOT IN ('true', 'false') THEN
        RAISE EXCEPTION 'setting %: "%" is not true or false', NEW.name, NEW.value
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER settings_check BEFORE INSERT OR UPDATE ON camserver.settings
    FOR EACH ROW EXECUTE FUNCTION camserver.settings_check();
