-- audit_note(action, subject, before, after, actor): one row of the audit, in the transaction of the change. The actor is,
-- unless named, whom caller_identify() found, else the database user. Internal. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.audit_note(
    p_action text, p_subject text, p_before jsonb, p_after jsonb, p_actor text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    INSERT INTO audit (at, actor, action, subject, before, after)
    VALUES (clock_timestamp(), coalesce(p_actor, nullif(current_setting('camserver.actor', true), ''), 'db:' || session_user),
        p_action, p_subject, p_before, p_after);
END $$;
