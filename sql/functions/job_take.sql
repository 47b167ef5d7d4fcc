-- job_take(kind, dispatcher, n, model): take up to n of the jobs that job_pick() finds. Each gets a token that was never
-- given before; every later write for the job must carry it. If there is a model of that name, its limits bind: no more
-- jobs are taken than permits are granted (permit_claim), each job comes with its permit, and if jobs are left for which
-- there is none now a last row without a job has wait_ms: when it is worth asking again.
-- Internal, for the claims. Locks: the jobs, never waiting for one; then those of permit_claim.
CREATE OR REPLACE FUNCTION camserver.job_take(
    p_kind camserver.job_kind, p_dispatcher uuid, p_n integer, p_model text DEFAULT NULL)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text, captured_at text,
    permit uuid, wait_ms integer)
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_limited boolean := p_model IS NOT NULL AND EXISTS (SELECT 1 FROM models WHERE model = p_model);
    v_places tid[];
    v_permits uuid[];
    v_wait_ms integer;
    v_now timestamptz;
    v_deadline timestamptz;
BEGIN
    v_places := job_pick(p_kind, CASE WHEN v_limited THEN least(p_n, permit_room(p_dispatcher, p_model)) ELSE p_n END);
    IF v_limited THEN
        SELECT c.granted, c.wait_ms INTO v_permits, v_wait_ms FROM permit_claim(p_dispatcher, p_model, cardinality(v_places)) c;
        v_places := v_places[:cardinality(v_permits)];
    END IF;
    IF v_places <> '{}' THEN
        v_now := clock_timestamp();
        v_deadline := v_now + make_interval(
            secs => setting_number('job_deadline_sec')::float8 * CASE p_kind WHEN 'analyze' THEN 1 ELSE 3 END);
        RETURN QUERY
        WITH claimed AS (
            UPDATE inference_jobs j SET status = 'running', attempt = j.attempt + 1, locked_by = p_dispatcher,
                locked_token = nextval('job_token_seq'), locked_at = v_now, deadline_at = v_deadline
            FROM unnest(v_places, v_permits) WITH ORDINALITY AS p (place, permit, n)
            WHERE j.ctid = p.place
            RETURNING j.job_id, j.locked_token, j.attempt, j.max_attempt, j.frame_id, j.camera_id, j.captured_at, p.permit, p.n
        )
        SELECT c.job_id, c.locked_token, c.attempt::integer, c.max_attempt::integer, f.frame_uuid, c.camera_id,
            rfc3339(c.captured_at), c.permit, NULL::integer
        FROM claimed c LEFT JOIN frames f ON f.frame_id = c.frame_id
        ORDER BY c.n;
    END IF;
    IF v_wait_ms IS NOT NULL THEN
        wait_ms := v_wait_ms;
        RETURN NEXT;
    END IF;
END $$;
