-- node_candidates(model): the nodes that serve a model, for a program's router. Returns a jsonb array of name, base_url,
-- max_inflight, weight, http2, health_path, draining, and out_ms: for how long another program leaves it alone, 0 if none
-- does. Empty: nodes do not serve it. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.node_candidates(p_model text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN coalesce((SELECT jsonb_agg(jsonb_build_object('name', n.name, 'base_url', n.base_url,
            'max_inflight', n.max_inflight, 'weight', n.weight, 'http2', n.http2, 'health_path', n.health_path,
            'draining', n.draining, 'out_ms', coalesce((
                SELECT round(greatest(0, extract(epoch FROM max(r.out_until) - v_now)) * 1000) FROM node_reports r
                WHERE r.node = n.name AND r.out_until > v_now AND r.reported_at > v_now - interval '1 minute'), 0))
            ORDER BY n.name)
        FROM nodes n WHERE n.models @> ARRAY[p_model]), '[]');
END $$;
