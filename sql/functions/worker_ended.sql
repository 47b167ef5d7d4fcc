-- worker_ended(worker, pool, at, reason): nothing runs under this id any more, whatever its state: reality wins.
-- During its start that is a failed start. Internal; the pool's lock is held. Returns false if it was gone already.
CREATE OR REPLACE FUNCTION camserver.worker_ended(p_worker uuid, p_pool camserver.pools, p_at timestamptz, p_reason text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_worker workers%ROWTYPE;
    v_pool pools := p_pool;
BEGIN
    SELECT * INTO v_worker FROM workers WHERE worker_id = p_worker FOR UPDATE;
    IF NOT FOUND OR v_worker.state = 'gone' THEN
        RETURN false;
    END IF;
    PERFORM worker_change(p_worker, v_worker.state, v_worker.token, 'gone', p_at, p_reason);
    UPDATE worker_waiters SET worker_id = NULL, token = NULL WHERE worker_id = p_worker;
    IF v_worker.state = 'starting' THEN
        v_pool := pool_start_failed(p_pool, p_reason, p_at);
    END IF;
    PERFORM pool_plan(v_pool, p_at);
    RETURN true;
END $$;
