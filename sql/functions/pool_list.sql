-- pool_list(name): all pools, or one with its workers, as GET /api/pools answers it.
-- Returns jsonb: outcome OK with pools, or with pool and workers (the live ones, then the last 20 that ended);
-- UNKNOWN_POOL. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.pool_list(p_name text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    IF p_name IS NULL THEN
        RETURN jsonb_build_object('outcome', 'OK', 'pools', (SELECT coalesce(jsonb_agg(pool_json(name) ORDER BY name), '[]')
            FROM pools));
    ELSIF NOT EXISTS (SELECT 1 FROM pools WHERE name = p_name) THEN
        RETURN '{"outcome": "UNKNOWN_POOL"}';
    END IF;
    RETURN jsonb_build_object('outcome', 'OK', 'pool', pool_json(p_name), 'workers', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('worker_id', worker_id, 'state', state, 'host', host,
            'address', address, 'port', port, 'calls', calls, 'start_ms', round(start_ms::numeric),
            'requested_at', rfc3339(requested_at), 'ready_at', rfc3339(ready_at), 'granted_at', rfc3339(granted_at),
            'ended_at', rfc3339(ended_at), 'reason', reason) ORDER BY state, coalesce(ended_at, requested_at) DESC), '[]')
        FROM (SELECT * FROM workers WHERE pool = p_name AND state <> 'gone'
            UNION ALL
            (SELECT * FROM workers WHERE pool = p_name AND state = 'gone' ORDER BY ended_at DESC LIMIT 20)) w));
END $$;
