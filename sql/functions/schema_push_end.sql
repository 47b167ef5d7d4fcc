-- schema_push_end(dispatcher, node, accepted, error): how a push that schema_push_begin gave out ended.
CREATE OR REPLACE FUNCTION camserver.schema_push_end(p_dispatcher uuid, p_node text, p_accepted boolean, p_error text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    UPDATE schema_pushes SET finished_at = clock_timestamp(), accepted = p_accepted, error = p_error
    WHERE node_url = p_node AND pushed_by = p_dispatcher AND finished_at IS NULL;
END $$;
