-- server_put(id, changes): stream_server_set for the API, which answers instead of raising and makes no new server.
-- Returns jsonb: outcome OK with the server's parameters; UNKNOWN_SERVER; BAD_REQUEST with detail. Locks: the server's row.
CREATE OR REPLACE FUNCTION camserver.server_put(p_id text, p_changes jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM 1 FROM stream_servers WHERE stream_server_id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_SERVER');
    END IF;
    PERFORM stream_server_set(p_id, p_changes);
    RETURN (SELECT jsonb_build_object('outcome', 'OK', 'server', to_jsonb(s) - '{lock_id,created_at}'::text[])
        FROM stream_servers s WHERE s.stream_server_id = p_id);
EXCEPTION WHEN check_violation OR not_null_violation OR undefined_column OR data_exception THEN
    RETURN jsonb_build_object('outcome', 'BAD_REQUEST', 'detail', SQLERRM);
END $$;
