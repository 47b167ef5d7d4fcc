-- worker_leave(holder, ticket): the caller waits no longer. A worker that was granted meanwhile goes on to the next.
-- Returns jsonb: outcome OK or UNKNOWN_TICKET. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_leave(p_holder uuid, p_ticket uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_waiter worker_waiters%ROWTYPE;
    v_pool pools;
    v_now timestamptz;
BEGIN
    v_pool := pool_lock((SELECT pool FROM worker_waiters WHERE ticket = p_ticket));
    v_now := clock_timestamp();
    DELETE FROM worker_waiters WHERE ticket = p_ticket AND holder_id = p_holder RETURNING * INTO v_waiter;
    IF NOT FOUND THEN
        RETURN '{"outcome": "UNKNOWN_TICKET"}';
    END IF;
    IF v_waiter.worker_id IS NOT NULL THEN
        PERFORM worker_return(v_waiter.worker_id, v_waiter.token, v_pool, v_now);
    ELSE
        PERFORM pool_plan(v_pool, v_now);
    END IF;
    RETURN '{"outcome": "OK"}';
END $$;
