-- worker_change(worker, from, token, to, at, reason, holder): the one place where a worker's state changes. It does only
-- if the worker is still in the state `from` with this token. Internal; the pool's lock is held (a start that is taken
-- on needs only the row's).
--   p_reason   joins what is there already: why it stops, then how it ended
--   p_holder   of a grant
-- Counts the pool's cold starts and evictions. Returns the token that counts from now on; NULL: it was not so, nothing changed.
CREATE OR REPLACE FUNCTION camserver.worker_change(p_worker uuid, p_from camserver.worker_state, p_token bigint,
    p_to camserver.worker_state, p_at timestamptz, p_reason text DEFAULT NULL, p_holder uuid DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_token bigint;
    v_pool text;
    v_calls bigint;
BEGIN
    UPDATE workers SET state = p_to,
        token = CASE WHEN p_to IN ('starting', 'in_use') THEN nextval('worker_token_seq') ELSE token END,
        holder_id = p_holder, picked_up = false,
        started_at = CASE p_to WHEN 'starting' THEN p_at ELSE started_at END,
        granted_at = CASE p_to WHEN 'in_use' THEN p_at ELSE granted_at END,
        calls = calls + CASE p_to WHEN 'in_use' THEN 1 ELSE 0 END,
        idle_since = CASE p_to WHEN 'idle' THEN p_at END,
        ended_at = CASE p_to WHEN 'gone' THEN p_at END,
        reason = left(coalesce(reason || coalesce(E'\n' || p_reason, ''), p_reason), 8000)
    WHERE worker_id = p_worker AND state = p_from AND token = p_token
    RETURNING token, pool, calls INTO v_token, v_pool, v_calls;
    IF p_to = 'in_use' AND v_calls = 1 THEN
        UPDATE pools SET cold_starts = cold_starts + 1 WHERE name = v_pool;
    ELSIF p_from = 'in_use' AND p_to IN ('stopping', 'gone') THEN
        UPDATE pools SET evictions = evictions + 1 WHERE name = v_pool;
    END IF;
    RETURN v_token;
END $$;
