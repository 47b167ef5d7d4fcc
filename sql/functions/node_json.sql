-- node_json(name): a node as the API shows it, with what the programs that call it say. Internal.
CREATE OR REPLACE FUNCTION camserver.node_json(p_name text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('name', name, 'base_url', base_url, 'models', models, 'max_inflight', max_inflight,
            'weight', weight, 'http2', http2, 'health_path', health_path, 'draining', draining, 'state', state,
            'ejected_until', rfc3339(out_until), 'last_error', reason, 'inflight', inflight, 'latency_ms', latency_ms,
            'requests', requests, 'failures', failures, 'ejections', ejections)
        FROM node_list WHERE name = p_name);
END $$;
