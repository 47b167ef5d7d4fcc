-- node_put(name, changes): node_set for the API, which answers instead of raising.
-- Returns jsonb: outcome CREATED or OK with the node; UNKNOWN_NODE if there is none and the changes do not make one;
-- BAD_REQUEST with detail.
CREATE OR REPLACE FUNCTION camserver.node_put(p_name text, p_changes jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_new boolean;
BEGIN
    IF NOT p_changes ? 'base_url' AND NOT EXISTS (SELECT 1 FROM nodes WHERE name = p_name) THEN
        RETURN '{"outcome": "UNKNOWN_NODE"}';
    END IF;
    v_new := node_set(p_name, p_changes);
    RETURN jsonb_build_object('outcome', CASE WHEN v_new THEN 'CREATED' ELSE 'OK' END, 'node', node_json(p_name));
EXCEPTION WHEN check_violation OR not_null_violation OR undefined_column OR data_exception THEN
    RETURN jsonb_build_object('outcome', 'BAD_REQUEST', 'detail', SQLERRM);
END $$;
