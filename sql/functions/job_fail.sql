-- job_fail(dispatcher, failures): these attempts came to nothing. Each element of the jsonb array: job_id, token, error,
-- delay_ms until the next attempt, final (dead at once, whatever attempts are left), refund (the attempt does not
-- count: the job was given back, or the node had to be told its schema), permit (of the call, if it has one: released in any case).
-- A failure whose token is not current changes nothing. Returns jsonb: waiting, dead, fenced counts.
-- Locks: the jobs; then those of permit_release.
CREATE OR REPLACE FUNCTION camserver.job_fail(p_dispatcher uuid, p_failures jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_dead integer;
    v_waiting integer;
BEGIN
    WITH told AS (
        SELECT * FROM jsonb_to_recordset(p_failures)
            AS t (job_id bigint, token bigint, error text, delay_ms integer, final boolean, refund boolean)
    ), held AS MATERIALIZED (
        SELECT j.job_id, t.error, t.delay_ms, coalesce(t.refund, false) AS refund,
            coalesce(t.final, false) OR (j.attempt >= j.max_attempt AND NOT coalesce(t.refund, false)) AS dies
        FROM told t JOIN inference_jobs j ON j.job_id = t.job_id AND j.locked_token = t.token AND j.status = 'running'
        ORDER BY j.job_id FOR UPDATE OF j
    ), written AS (
        UPDATE inference_jobs j SET
            status = CASE WHEN h.dies THEN 'dead' WHEN h.delay_ms > 0 THEN 'waiting' ELSE 'queued' END::job_status,
            available_at = CASE WHEN h.dies THEN j.available_at ELSE v_now + h.delay_ms * interval '1 ms' END,
            attempt = j.attempt - CASE WHEN h.refund THEN 1 ELSE 0 END,
            finished_at = CASE WHEN h.dies THEN v_now END,
            last_error = left(h.error, 2000),
            locked_by = NULL, locked_token = NULL, locked_at = NULL, deadline_at = NULL
        FROM held h WHERE j.job_id = h.job_id
        RETURNING h.dies
    )
    SELECT count(*) FILTER (WHERE dies), count(*) FILTER (WHERE NOT dies) INTO v_dead, v_waiting FROM written;
    PERFORM permit_release(ARRAY(SELECT (f->>'permit')::uuid FROM jsonb_array_elements(p_failures) f WHERE f ? 'permit'),
        p_dispatcher);
    RETURN jsonb_build_object('waiting', v_waiting, 'dead', v_dead,
        'fenced', jsonb_array_length(p_failures) - v_dead - v_waiting);
END $$;
