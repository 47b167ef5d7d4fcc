-- worker_retire(worker, token, pool, at, reason): a worker in use is not used any more, by anybody: it stops, its slot is
-- free at once. A caller who was granted it but has not heard of it is first in the queue again. Internal; the pool's lock
-- is held. Returns false if it is not in use with this token.
CREATE OR REPLACE FUNCTION camserver.worker_retire(p_worker uuid, p_token bigint, p_pool camserver.pools, p_at timestamptz,
    p_reason text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    IF worker_change(p_worker, 'in_use', p_token, 'stopping', p_at, p_reason) IS NULL THEN
        RETURN false;
    END IF;
    UPDATE worker_waiters SET worker_id = NULL, token = NULL WHERE worker_id = p_worker;
    PERFORM pool_notify();
    PERFORM pool_plan(p_pool, p_at);
    RETURN true;
END $$;
