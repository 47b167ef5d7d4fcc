-- node_remove(name): forget a node; calls under way at it end as they end. True if there was one.
CREATE OR REPLACE FUNCTION camserver.node_remove(p_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    DELETE FROM nodes WHERE name = p_name;
    IF FOUND THEN
        PERFORM pg_notify('cam_nodes', '');
    END IF;
    RETURN FOUND;
END $$;
