-- suggest_usage(server, sub_cost, at): units that the current suggestion takes on a stream server: one sub
-- stream for each active viewer, if the suggested camera is there. 0 when nothing is suggested.
-- (In plpgsql, as everything on a request's path: it keeps its plan, where SQL functions are planned at every call.)
CREATE OR REPLACE FUNCTION camserver.suggest_usage(p_server text, p_sub_cost integer, p_at timestamptz) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_users integer;
BEGIN
    SELECT g.active_ui_users INTO v_users
    FROM camserver.suggest_state g JOIN camserver.cameras c USING (camera_id)
    WHERE g.expires_at > p_at AND c.stream_server_id = p_server;
    RETURN coalesce(v_users * p_sub_cost, 0);
END $$;
