-- node_configure(name, base_url, model, if_none): the node that a program's configuration names (IS21_BASE_URL). Made if it
-- is not there, or follows the configuration if that made it; left alone if an operator has moved it. Not made if there is
-- another with this address, or, with if_none, any other that serves the model. Locks: the node's row.
CREATE OR REPLACE FUNCTION camserver.node_configure(p_name text, p_base_url text, p_model text, p_if_none boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_url text := rtrim(p_base_url, '/');
    v_moved boolean := EXISTS (SELECT 1 FROM nodes WHERE name = p_name AND base_url <> v_url);
BEGIN
    IF EXISTS (SELECT 1 FROM nodes WHERE name <> p_name AND models @> ARRAY[p_model] AND (base_url = v_url OR p_if_none)) THEN
        RETURN;
    END IF;
    INSERT INTO nodes AS n (name, base_url, models, configured) VALUES (p_name, v_url, ARRAY[p_model], true)
    ON CONFLICT (name) DO UPDATE SET base_url = excluded.base_url, updated_at = clock_timestamp(),
            models = CASE WHEN n.models @> excluded.models THEN n.models ELSE n.models || excluded.models END
        WHERE n.configured AND (n.base_url <> excluded.base_url OR NOT n.models @> excluded.models);
    IF FOUND THEN
        DELETE FROM node_reports WHERE node = p_name AND v_moved;
        PERFORM pg_notify('cam_nodes', '');
    END IF;
END $$;
