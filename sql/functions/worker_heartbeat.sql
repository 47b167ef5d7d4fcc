-- worker_heartbeat(holder, name, interval_sec, in_use): this process lives and uses these workers, an array of
-- {"worker_id", "token"}. Three intervals without a heartbeat and it is dead.
-- Workers that the database thinks it has, granted more than an interval ago, but that it does not name - an answer
-- that was lost - are returned: nobody calls them. Returns jsonb: outcome OK, lost: the ids in the list that are not its
-- any more. Locks: the pools of what is returned, ascending.
CREATE OR REPLACE FUNCTION camserver.worker_heartbeat(p_holder uuid, p_name text, p_interval_sec numeric,
    p_in_use jsonb DEFAULT '[]') RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_worker record;
    v_pool pools;
    v_lost jsonb;
BEGIN
    INSERT INTO pool_holders AS h (holder_id, name, interval_sec, first_seen, last_heartbeat)
    VALUES (p_holder, left(p_name, 120), p_interval_sec, v_now, v_now)
    ON CONFLICT (holder_id) DO UPDATE SET name = excluded.name, interval_sec = excluded.interval_sec,
        last_heartbeat = greatest(h.last_heartbeat, excluded.last_heartbeat);
    FOR v_worker IN SELECT w.worker_id, w.token, w.pool FROM workers w JOIN pools p ON p.name = w.pool
        WHERE w.holder_id = p_holder AND w.picked_up
          AND w.granted_at < v_now - make_interval(secs => p_interval_sec::float8)
          AND NOT p_in_use @> jsonb_build_array(jsonb_build_object('worker_id', w.worker_id))
        ORDER BY p.lock_id
    LOOP
        v_pool := pool_lock(v_worker.pool);
        v_now := clock_timestamp();
        PERFORM worker_return(v_worker.worker_id, v_worker.token, v_pool, v_now);
    END LOOP;
    SELECT coalesce(jsonb_agg(u->>'worker_id'), '[]') INTO v_lost FROM jsonb_array_elements(p_in_use) u
    WHERE NOT EXISTS (SELECT 1 FROM workers w WHERE w.worker_id = (u->>'worker_id')::uuid AND w.holder_id = p_holder
        AND w.token = (u->>'token')::bigint);
    RETURN jsonb_build_object('outcome', 'OK', 'lost', v_lost);
END $$;
