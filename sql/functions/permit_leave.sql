-- permit_leave(ids, outcome, now, level): waiters leave the queue without a permit; nothing is charged, the calls are
-- recorded. outcome: refused, deadline, cancelled, lost. The caller has permit_lock. Returns how many there were.
CREATE OR REPLACE FUNCTION camserver.permit_leave(
    p_ids uuid[], p_outcome text, p_now timestamptz, p_level camserver.limit_level DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_count integer;
BEGIN
    IF cardinality(p_ids) = 0 THEN
        RETURN 0;
    END IF;
    WITH gone AS (
        DELETE FROM permit_waiters w WHERE w.permit_id = ANY (p_ids) AND (p_outcome <> 'lost' OR w.seen_until <= p_now)
        RETURNING w.*
    ), fewer AS (
        UPDATE buckets b SET waiting = b.waiting - g.n
        FROM (SELECT model, count(*)::integer AS n FROM gone GROUP BY model) g
        WHERE b.level = 'model' AND b.name = g.model
    )
    INSERT INTO permit_calls (model, caller, asked_at, ended_at, outcome, level)
    SELECT g.model, g.caller, g.asked_at, p_now, p_outcome, p_level FROM gone g;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END $$;
