-- worker_offer(worker, token, pool, at): a worker has just become idle: the longest waiting caller gets it, if any waits.
-- Internal; the pool's lock is held, so nobody who comes now can overtake.
CREATE OR REPLACE FUNCTION camserver.worker_offer(p_worker uuid, p_token bigint, p_pool text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_waiter worker_waiters%ROWTYPE;
    v_token bigint;
BEGIN
    SELECT * INTO v_waiter FROM worker_waiters
    WHERE pool = p_pool AND worker_id IS NULL AND deadline_at > p_at ORDER BY position LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_token := worker_change(p_worker, 'idle', p_token, 'in_use', p_at, p_holder => v_waiter.holder_id);
    IF v_token IS NOT NULL THEN
        UPDATE worker_waiters SET worker_id = p_worker, token = v_token WHERE ticket = v_waiter.ticket;
        PERFORM pool_notify(v_waiter.holder_id);
    END IF;
END $$;
