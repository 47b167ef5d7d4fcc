-- job_ended(): trigger. Whoever ends a follow-up without its being done - its failures, the rescue, an operator - the
-- notification or review that it was for says so; and when the job is given another chance, that too.
CREATE OR REPLACE FUNCTION camserver.job_ended() RETURNS trigger
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    IF NEW.status IN ('dead', 'cancelled') THEN
        UPDATE notifications SET state = 'dead', reason = left(NEW.last_error, 500), updated_at = clock_timestamp()
        WHERE NEW.kind = 'notify' AND job_id = NEW.job_id AND state = 'sending';
        UPDATE llm_reviews SET outcome = 'error', reason = left(NEW.last_error, 500), finished_at = clock_timestamp()
        WHERE NEW.kind = 'escalate' AND event_id = NEW.ref_id AND outcome = 'pending';
    ELSE
        UPDATE notifications SET state = 'sending', reason = 'retried', updated_at = clock_timestamp()
        WHERE NEW.kind = 'notify' AND notification_id = NEW.ref_id AND state = 'dead';
        UPDATE llm_reviews SET outcome = 'pending', reason = 'retried', finished_at = NULL
        WHERE NEW.kind = 'escalate' AND event_id = NEW.ref_id AND outcome = 'error';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER job_ended AFTER UPDATE OF status ON camserver.inference_jobs
    FOR EACH ROW WHEN (NEW.kind IN ('notify', 'escalate') AND NEW.status <> OLD.status
        AND (NEW.status IN ('dead', 'cancelled') OR OLD.status IN ('dead', 'cancelled')))
    EXECUTE FUNCTION camserver.job_ended();
