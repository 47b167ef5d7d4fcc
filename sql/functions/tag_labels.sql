-- tag_labels(tags): the labels of these tags, each the newest schema's that has the tag, as an object by tag; a tag without
-- a label is not in it. Internal. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.tag_labels(p_tags text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp SET plan_cache_mode = auto AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(l.tag_id, l.label_ja), '{}') FROM (
        SELECT DISTINCT ON (s.tag_id) s.tag_id, s.label_ja FROM schema_tags s JOIN schema_versions v USING (schema_version)
        WHERE s.tag_id = ANY (p_tags) AND s.label_ja IS NOT NULL ORDER BY s.tag_id, v.created_at DESC) l);
END $$;
