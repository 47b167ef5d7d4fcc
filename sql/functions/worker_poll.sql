-- worker_poll(holder, tickets): what has become of these waiting callers. A grant is told once and is the holder's from
-- then on; a ticket that is over is forgotten.
-- Returns jsonb: an array with, for each ticket, ticket and what worker_acquire returns. Locks: the pools of tickets that
-- are decided, ascending; none while all have to wait on.
CREATE OR REPLACE FUNCTION camserver.worker_poll(p_holder uuid, p_tickets uuid[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_all jsonb := '[]';
    v_name text;
    v_pool pools;
    v_now timestamptz := clock_timestamp();
    v_waiter worker_waiters%ROWTYPE;
    v_counts record;
    v_refusal jsonb;
    v_ticket uuid;
BEGIN
    PERFORM holder_seen(p_holder, v_now);
    FOR v_name IN SELECT p.name FROM pools p WHERE EXISTS (SELECT 1 FROM worker_waiters w WHERE w.pool = p.name
            AND w.ticket = ANY (p_tickets) AND w.holder_id = p_holder)
        ORDER BY p.lock_id
    LOOP
        SELECT * INTO v_pool FROM pools WHERE name = v_name;
        v_counts := pool_counts(v_name, v_now);
        -- All wait on, and nothing speaks against it.
        CONTINUE WHEN pool_refusal(v_pool, v_counts.o_live, v_now) IS NULL AND NOT EXISTS (SELECT 1 FROM worker_waiters
            WHERE ticket = ANY (p_tickets) AND pool = v_name AND (worker_id IS NOT NULL OR deadline_at <= v_now));
        v_pool := pool_lock(v_name);
        v_now := clock_timestamp();
        v_counts := pool_counts(v_name, v_now);
        v_refusal := pool_refusal(v_pool, v_counts.o_live, v_now);
        FOR v_waiter IN DELETE FROM worker_waiters WHERE ticket = ANY (p_tickets) AND pool = v_name
            AND holder_id = p_holder AND (worker_id IS NOT NULL OR deadline_at <= v_now OR v_refusal IS NOT NULL)
            RETURNING *
        LOOP
            UPDATE workers SET picked_up = true
            WHERE worker_id = v_waiter.worker_id AND token = v_waiter.token AND state = 'in_use';
            v_all := v_all || (CASE
                WHEN FOUND THEN worker_grant(v_waiter.worker_id, v_pool, v_now - v_waiter.requested_at)
                WHEN v_refusal IS NOT NULL THEN v_refusal || '{"outcome": "REFUSED"}'
                ELSE jsonb_build_object('outcome', 'REFUSED', 'error_code', 'POOL_TIMEOUT', 'reason', format(
                        'no worker within %s s: %s of %s in use, %s starting%s',
                        round(extract(epoch FROM v_waiter.deadline_at - v_waiter.requested_at), 1), v_counts.o_in_use,
                        v_pool.max_capacity, v_counts.o_pending, coalesce('; the last start failed: ' || CASE WHEN
                        v_pool.fail_streak > 0 THEN v_pool.last_error END, '')),
                    'retry_after', greatest(1, ceil(coalesce(v_pool.start_ms, 0) / 1000))) END
                || jsonb_build_object('ticket', v_waiter.ticket));
        END LOOP;
        PERFORM pool_plan(v_pool, v_now); -- who left may have been the one that a start was for
    END LOOP;

    FOREACH v_ticket IN ARRAY p_tickets LOOP
        CONTINUE WHEN v_all @> jsonb_build_array(jsonb_build_object('ticket', v_ticket));
        SELECT * INTO v_waiter FROM worker_waiters WHERE ticket = v_ticket AND holder_id = p_holder;
        v_all := v_all || CASE WHEN FOUND
            THEN jsonb_build_object('outcome', 'WAITING', 'ticket', v_ticket, 'poll_ms',
                greatest(1, least(1000, extract(epoch FROM v_waiter.deadline_at - v_now) * 1000))::integer)
            ELSE jsonb_build_object('outcome', 'REFUSED', 'error_code', 'POOL_TIMEOUT', 'ticket', v_ticket,
                'reason', 'there is no such ticket any more', 'retry_after', 1) END;
    END LOOP;
    RETURN v_all;
END $$;
