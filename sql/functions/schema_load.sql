-- schema_load(schema): store a tag schema and its tags: schema_version, primary_events[], tag_groups[], tags[{id,
-- group, label_ja, severity_default, notify_allowed, retention_hint}], of which a tag needs id and group.
-- Returns jsonb: outcome LOADED, UNCHANGED (the same was there) or CONFLICT (that version has other content and stays:
-- nodes that have it would not be told), with schema_version and the number of tags. Called by the owner, from camctl.
-- Errors: invalid_parameter_value, naming the member that is wrong.
CREATE OR REPLACE FUNCTION camserver.schema_load(p_schema jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_version text := p_schema->>'schema_version';
    v_fault text;
    v_list text;
    v_old jsonb;
BEGIN
    IF jsonb_typeof(p_schema->'schema_version') IS DISTINCT FROM 'string' OR length(v_version) NOT BETWEEN 1 AND 64 THEN
        RAISE EXCEPTION 'schema_version must be a text of 1 to 64 characters' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOREACH v_list IN ARRAY ARRAY['primary_events', 'tag_groups', 'tags'] LOOP
        IF jsonb_typeof(p_schema->v_list) IS DISTINCT FROM 'array' OR jsonb_array_length(p_schema->v_list) = 0 THEN
            RAISE EXCEPTION '% must be an array with at least one element', v_list
                USING ERRCODE = 'invalid_parameter_value';
        ELSIF v_list <> 'tags' AND jsonb_path_exists(p_schema->v_list, 'strict $[*] ? (@.type() != "string")') THEN
            RAISE EXCEPTION '% must hold texts', v_list USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END LOOP;

    SELECT format('tags[%s] (%s): %s', t.n - 1, coalesce(t.tag->>'id', '?'), f.fault) INTO v_fault
    FROM jsonb_array_elements(p_schema->'tags') WITH ORDINALITY t (tag, n), LATERAL (SELECT CASE
        WHEN jsonb_typeof(t.tag) <> 'object' THEN 'must be an object'
        WHEN jsonb_typeof(t.tag->'id') IS DISTINCT FROM 'string' OR length(t.tag->>'id') NOT BETWEEN 1 AND 128
            THEN 'id must be a text of 1 to 128 characters'
        WHEN jsonb_typeof(t.tag->'group') IS DISTINCT FROM 'string' OR NOT p_schema->'tag_groups' @> (t.tag->'group')
            THEN 'group must be one of tag_groups'
        WHEN jsonb_typeof(t.tag->'label_ja') NOT IN ('string', 'null') THEN 'label_ja must be a text'
        WHEN coalesce(t.tag->'severity_default', 'null') NOT IN ('null', '0', '1', '2', '3')
            THEN 'severity_default must be 0, 1, 2 or 3'
        WHEN jsonb_typeof(t.tag->'notify_allowed') NOT IN ('boolean', 'null')
            THEN 'notify_allowed must be true or false'
        WHEN coalesce(t.tag->'retention_hint', 'null') NOT IN ('null', '"normal"', '"quarantine"', '"case"')
            THEN 'retention_hint must be normal, quarantine or case'
        END AS fault) f
    WHERE f.fault IS NOT NULL ORDER BY t.n LIMIT 1;
    IF NOT FOUND THEN
        SELECT format('there is more than one tag %s', t->>'id') INTO v_fault
        FROM jsonb_array_elements(p_schema->'tags') t GROUP BY t->>'id' HAVING count(*) > 1 LIMIT 1;
    END IF;
    IF v_fault IS NOT NULL THEN
        RAISE EXCEPTION '%', v_fault USING ERRCODE = 'invalid_parameter_value';
    END IF;

    INSERT INTO schema_versions (schema_version, schema) VALUES (v_version, p_schema) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        SELECT schema INTO v_old FROM schema_versions WHERE schema_version = v_version;
        RETURN jsonb_build_object('outcome', CASE WHEN v_old = p_schema THEN 'UNCHANGED' ELSE 'CONFLICT' END,
            'schema_version', v_version, 'tags', jsonb_array_length(v_old->'tags'));
    END IF;
    INSERT INTO schema_tags (schema_version, tag_id, tag_group, label_ja, severity_default, notify_allowed,
        retention_hint)
    SELECT v_version, t->>'id', t->>'group', t->>'label_ja', (t->>'severity_default')::numeric::smallint,
        coalesce((t->>'notify_allowed')::boolean, true), t->>'retention_hint'
    FROM jsonb_array_elements(p_schema->'tags') t;
    RETURN jsonb_build_object('outcome', 'LOADED', 'schema_version', v_version,
        'tags', jsonb_array_length(p_schema->'tags'));
END $$;
