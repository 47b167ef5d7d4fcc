-- worker_failed(manager, worker, token, reason): the start has failed - time is up, or it never became healthy - and the
-- manager stops what there is of it. Returns jsonb: outcome OK or FENCED. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.worker_failed(p_manager uuid, p_worker uuid, p_token bigint, p_reason text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_pool pools;
    v_now timestamptz;
BEGIN
    v_pool := pool_lock((SELECT w.pool FROM workers w JOIN managers m ON m.host = w.host
        WHERE w.worker_id = p_worker AND m.manager_id = p_manager));
    v_now := clock_timestamp();
    IF v_pool.name IS NULL OR worker_change(p_worker, 'starting', p_token, 'stopping', v_now, p_reason) IS NULL THEN
        RETURN '{"outcome": "FENCED"}';
    END IF;
    PERFORM pool_plan(pool_start_failed(v_pool, p_reason, v_now), v_now);
    RETURN '{"outcome": "OK"}';
END $$;
