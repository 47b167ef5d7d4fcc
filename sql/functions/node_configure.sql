-- node_configure(name, base_url, model): the node that a program's configuration names (IS21_BASE_URL). Made if it is not
-- there; moved if the configuration made it and says another address now; left alone if an operator has moved it.
-- Locks: the node's row.
CREATE OR REPLACE FUNCTION camserver.node_configure(p_name text, p_base_url text, p_model text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    INSERT INTO nodes AS n (name, base_url, models, configured) VALUES (p_name, rtrim(p_base_url, '/'), ARRAY[p_model], true)
    ON CONFLICT (name) DO UPDATE SET base_url = excluded.base_url, updated_at = clock_timestamp()
        WHERE n.configured AND n.base_url <> excluded.base_url;
    IF FOUND THEN
        DELETE FROM node_reports WHERE node = p_name;
        PERFORM pg_notify('cam_nodes', '');
    END IF;
END $$;
