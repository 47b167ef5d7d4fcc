-- worker_check(): trigger that lets a worker's state change only as worker_transitions allows, whoever writes it.
CREATE OR REPLACE FUNCTION camserver.worker_check() RETURNS trigger
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM worker_transitions WHERE from_state = OLD.state AND to_state = NEW.state) THEN
        RAISE EXCEPTION 'worker %: % does not become %', OLD.worker_id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation', HINT = 'worker_transitions lists what may become what.';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER worker_check BEFORE UPDATE OF state ON camserver.workers
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION camserver.worker_check();
