-- job_take(kind, dispatcher, n, model, awake): take up to n of the jobs that may run now, highest priority first, then oldest. Each
-- gets a token that was never given before; every later write for the job must carry it. If there is a model of that name, its
-- limits bind: no more jobs are taken than permits are granted (permit_claim), each job comes with its permit, and if jobs are
-- left for which there is none now a last row without a job has wait_ms: when it is worth asking again.
-- p_awake: as job_claim() has it; NULL: the dispatcher is not marked.
-- A claim that is a transaction by itself and takes no permits does not wait for the disk: if a crash forgets it, the jobs are
-- queued as before, and what its holder then says of them carries a token that no row has. They are done once more, not lost, and
-- nothing is written twice. (Attempts that a crash of the database forgets do not count; those of a dispatcher do.) Permits must
-- not be forgotten while the calls that they are for are made.
-- Internal, for the claims. Locks: the jobs, never waiting for one; then those of permit_claim; then the dispatcher.
CREATE OR REPLACE FUNCTION camserver.job_take(
    p_kind camserver.job_kind, p_dispatcher uuid, p_n integer, p_model text DEFAULT NULL, p_awake boolean DEFAULT NULL)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text, captured_at text,
    permit uuid, wait_ms integer)
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_n integer := p_n;
    v_now timestamptz := clock_timestamp();
    v_facts record;
    v_places tid[]; -- where the jobs' rows are: one that is locked does not move until the end of the transaction
    v_permits uuid[];
    v_wait_ms integer;
    v_some boolean;
    -- Nothing has been written before it, and what comes after it is no part of this transaction.
    v_alone boolean := pg_current_xact_id_if_assigned() IS NULL AND statement_timestamp() = transaction_timestamp();
BEGIN
    SELECT d.value::float8 * CASE p_kind WHEN 'analyze' THEN 1 ELSE 3 END AS deadline_sec, a.value::numeric AS max_age_sec,
        EXISTS (SELECT 1 FROM inference_jobs j WHERE j.status = 'waiting' AND j.available_at <= v_now) AS due,
        p_model IS NOT NULL AND EXISTS (SELECT 1 FROM models m WHERE m.model = p_model) AS limited,
        (SELECT i.idle FROM dispatchers i WHERE i.dispatcher_id = p_dispatcher AND p_awake IS NOT NULL) AS idle
    INTO STRICT v_facts FROM settings d, settings a WHERE d.name = 'job_deadline_sec' AND a.name = 'job_max_age_sec';
    IF v_facts.limited THEN
        v_n := least(p_n, permit_room(p_dispatcher, p_model));
    END IF;
    IF v_facts.due OR v_facts.max_age_sec > 0 THEN
        PERFORM job_front(p_kind, v_n, v_facts.due, v_facts.max_age_sec);
    END IF;
    v_places := ARRAY(SELECT j.ctid FROM inference_jobs j WHERE j.status = 'queued' AND j.kind = p_kind
        ORDER BY j.priority DESC, j.job_id LIMIT v_n FOR UPDATE SKIP LOCKED);
    IF v_facts.limited THEN
        SELECT c.granted, c.wait_ms INTO v_permits, v_wait_ms FROM permit_claim(p_dispatcher, p_model, cardinality(v_places)) c;
        v_places := v_places[:cardinality(v_permits)];
    END IF;
    IF v_places <> '{}' THEN
        IF v_alone AND NOT v_facts.limited THEN
            PERFORM set_config('synchronous_commit', 'off', true);
        END IF;
        v_now := clock_timestamp();
        RETURN QUERY
        WITH claimed AS (
            UPDATE inference_jobs j SET status = 'running', attempt = j.attempt + 1, locked_by = p_dispatcher,
                locked_token = job_token(v_now, p.n), locked_at = v_now,
                deadline_at = v_now + make_interval(secs => v_facts.deadline_sec)
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
    v_some := v_places <> '{}' OR v_wait_ms IS NOT NULL;
    IF v_facts.idle = v_some AND (p_awake OR NOT v_some) THEN
        UPDATE dispatchers SET idle = NOT v_some WHERE dispatcher_id = p_dispatcher;
    END IF;
END $$;
