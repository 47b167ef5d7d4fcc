-- worker_grant(worker, waited): a grant as the caller is told of it. Internal.
CREATE OR REPLACE FUNCTION camserver.worker_grant(p_worker uuid, p_pool camserver.pools, p_waited interval) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('outcome', 'GRANTED', 'pool', pool, 'worker_id', worker_id, 'token', token,
        'url', 'http://' || address || ':' || port, 'call_path', p_pool.call_path, 'cold', calls <= 1,
        'waited_ms', round(extract(epoch FROM p_waited) * 1000))
        FROM workers WHERE worker_id = p_worker);
END $$;
