-- schema_push_begin(dispatcher, node, version): a node answered that it speaks another schema. One dispatcher at a time
-- tells it the right one. Returns jsonb: push = true with the schema to send: it is for you; push = false otherwise,
-- with repeated = true if the node took this version seconds ago and still says no: then the fault is the node's.
-- Locks: the node's row.
CREATE OR REPLACE FUNCTION camserver.schema_push_begin(p_dispatcher uuid, p_node text, p_version text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_patience CONSTANT interval := '10 seconds'; -- longer than a PUT may take
    v_now timestamptz;
    v_last schema_pushes%ROWTYPE;
    v_schema jsonb;
BEGIN
    SELECT schema INTO v_schema FROM schema_versions WHERE schema_version = p_version;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('push', false, 'repeated', true,
            'error', format('there is no schema %s in schema_versions', p_version));
    END IF;
    INSERT INTO schema_pushes (node_url, schema_version, pushed_by, started_at)
    VALUES (p_node, p_version, p_dispatcher, '-infinity') ON CONFLICT DO NOTHING;
    SELECT * INTO v_last FROM schema_pushes WHERE node_url = p_node FOR UPDATE;
    v_now := clock_timestamp();
    IF v_last.started_at > v_now - c_patience AND v_last.schema_version = p_version THEN
        IF v_last.finished_at IS NULL THEN
            RETURN jsonb_build_object('push', false, 'repeated', false);
        ELSIF v_last.accepted AND v_last.finished_at < v_now - interval '2 seconds' THEN
            RETURN jsonb_build_object('push', false, 'repeated', true,
                'error', 'the node accepted the schema and still answers schema_mismatch');
        ELSIF v_last.accepted THEN -- asked before the node had it
            RETURN jsonb_build_object('push', false, 'repeated', false);
        END IF;
    END IF;
    UPDATE schema_pushes SET schema_version = p_version, pushed_by = p_dispatcher, started_at = v_now,
        finished_at = NULL, accepted = NULL, error = NULL
    WHERE node_url = p_node;
    RETURN jsonb_build_object('push', true, 'schema', v_schema);
END $$;
