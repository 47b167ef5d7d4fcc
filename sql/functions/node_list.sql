-- node_list(): all nodes, as GET /api/nodes answers it. Returns jsonb: outcome OK with nodes. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.node_list() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN jsonb_build_object('outcome', 'OK', 'nodes',
        (SELECT coalesce(jsonb_agg(node_json(name) ORDER BY name), '[]') FROM nodes));
END $$;
