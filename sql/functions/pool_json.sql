-- pool_json(name): a pool with its counts, as the API shows it. NULL if there is none. Internal.
CREATE OR REPLACE FUNCTION camserver.pool_json(p_name text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_pool pools;
    v_counts record;
BEGIN
    SELECT * INTO v_pool FROM pools WHERE name = p_name;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    v_counts := pool_counts(p_name, v_now);
    -- The environment may hold secrets; its names are enough.
    RETURN to_jsonb(v_pool) - '{lock_id,environment,created_at,updated_at,retry_at,last_error_at}'::text[]
        || jsonb_build_object('environment', (SELECT coalesce(jsonb_agg(k ORDER BY k), '[]') FROM jsonb_object_keys(v_pool.environment) k),
            'start_ms', round(v_pool.start_ms::numeric), 'retry_at', rfc3339(v_pool.retry_at),
            'last_error_at', rfc3339(v_pool.last_error_at), 'idle', v_counts.o_idle, 'in_use', v_counts.o_in_use,
            'starting', v_counts.o_pending, 'waiting', v_counts.o_waiting,
            'refusal', pool_refusal(v_pool, v_counts.o_live, v_now));
END $$;
