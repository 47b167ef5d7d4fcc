-- node_set(name, changes): make a node or change it; every program that routes hears of it at once. p_changes holds column
-- names and values; an unknown name is an error; what is not named stays. models may be an array, or a text with commas.
-- Returns true if the node is new. Locks: the node's row.
CREATE OR REPLACE FUNCTION camserver.node_set(p_name text, p_changes jsonb DEFAULT '{}') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_allowed text[] := ARRAY['base_url', 'models', 'max_inflight', 'weight', 'http2', 'health_path', 'draining'];
    v_changes jsonb := p_changes;
    v_wrong text;
    v_node nodes;
    v_new boolean;
BEGIN
    SELECT k INTO v_wrong FROM jsonb_object_keys(p_changes) k WHERE k <> ALL (v_allowed) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a node has no property "%"', v_wrong
            USING ERRCODE = 'undefined_column', HINT = 'Properties: ' || array_to_string(v_allowed, ', ') || '.';
    END IF;
    IF jsonb_typeof(p_changes->'models') = 'string' THEN
        v_changes := v_changes || jsonb_build_object('models', (SELECT jsonb_agg(btrim(m))
            FROM unnest(string_to_array(p_changes->>'models', ',')) m WHERE btrim(m) <> ''));
    END IF;
    IF EXISTS (SELECT 1 FROM jsonb_array_elements_text(coalesce(nullif(v_changes->'models', 'null'), '[]')) m
               WHERE m !~ '^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,127}$') THEN
        RAISE EXCEPTION 'models: a model''s name is 1 to 128 letters, digits, "_", ".", ":", "/", "@" or "-"'
            USING ERRCODE = 'check_violation';
    END IF;
    v_changes := jsonb_strip_nulls(v_changes);

    SELECT * INTO v_node FROM nodes WHERE name = p_name FOR UPDATE;
    v_new := NOT FOUND;
    IF v_new THEN
        IF NOT v_changes ?& ARRAY['base_url', 'models'] THEN
            RAISE EXCEPTION 'a new node needs base_url and models' USING ERRCODE = 'not_null_violation';
        END IF;
        v_node := jsonb_populate_record(NULL::nodes, '{"max_inflight": 32, "weight": 1, "http2": false,
            "health_path": "/healthz", "draining": false}' || v_changes);
        INSERT INTO nodes (name, base_url, models, max_inflight, weight, http2, health_path, draining)
        VALUES (p_name, rtrim(v_node.base_url, '/'), v_node.models, v_node.max_inflight, v_node.weight, v_node.http2,
            v_node.health_path, v_node.draining);
    ELSE
        v_node := jsonb_populate_record(v_node, v_changes);
        UPDATE nodes SET base_url = rtrim(v_node.base_url, '/'), models = v_node.models, max_inflight = v_node.max_inflight,
            weight = v_node.weight, http2 = v_node.http2, health_path = v_node.health_path, draining = v_node.draining,
            configured = configured AND NOT v_changes ? 'base_url', updated_at = clock_timestamp()
        WHERE name = p_name;
        -- Elsewhere, what was found of it does not hold any more.
        IF v_changes ? 'base_url' THEN
            DELETE FROM node_reports WHERE node = p_name;
        END IF;
    END IF;
    PERFORM pg_notify('cam_nodes', '');
    RETURN v_new;
END $$;
