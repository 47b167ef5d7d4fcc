-- limits_parse(config): a configuration file's JSON as rows, one a level that says something: the global rate_limit, each
-- provider, each model. Providers stand under "providers" or directly at the top, as an object by name or as an array with
-- "name"; so do a provider's "models". A model's "name" is what callers say, its "model_name" what the provider is told,
-- its "pool" the worker pool that serves it, if one does. What is not understood is an error that names it; "shared" stands in a
-- rate_limit.
CREATE OR REPLACE FUNCTION camserver.limits_parse(p_config jsonb) RETURNS TABLE (
    level camserver.limit_level, provider_id text, model text, kind text, base_url text, api_key_file text,
    upstream_name text, pool text, requests integer, window_ms bigint, concurrent integer, shared boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_wrong text;
BEGIN
    IF jsonb_typeof(p_config) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the limits are not a JSON object' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF to_regclass('pg_temp.limits_parsed') IS NULL THEN
        CREATE TEMP TABLE limits_parsed (n integer, level limit_level, provider_id text, model text, body jsonb, lim jsonb)
            ON COMMIT DROP;
    END IF;
    DELETE FROM pg_temp.limits_parsed;
    INSERT INTO pg_temp.limits_parsed SELECT 0, 'global', NULL, NULL, p_config, p_config->'rate_limit'
    WHERE p_config ? 'rate_limit';
    INSERT INTO pg_temp.limits_parsed
    SELECT 1, 'provider', e.key, NULL, e.value, e.value->'rate_limit' FROM (
        SELECT key, value FROM jsonb_each(p_config) WHERE key NOT IN ('rate_limit', 'providers') AND jsonb_typeof(value) = 'object'
            AND (value ? 'models' OR value ? 'provider')
        UNION ALL
        SELECT key, value FROM jsonb_each(CASE jsonb_typeof(p_config->'providers') WHEN 'object' THEN p_config->'providers' END)
        UNION ALL
        SELECT coalesce(value->>'name', value->>'provider'), value FROM jsonb_array_elements(
            CASE jsonb_typeof(p_config->'providers') WHEN 'array' THEN p_config->'providers' END)) e;
    INSERT INTO pg_temp.limits_parsed
    SELECT 2, 'model', p.provider_id, coalesce(e.value->>'name', e.key, e.value->>'model_name'), e.value, e.value->'rate_limit'
    FROM pg_temp.limits_parsed p CROSS JOIN LATERAL (
        SELECT key, value FROM jsonb_each(CASE jsonb_typeof(p.body->'models') WHEN 'object' THEN p.body->'models' END)
        UNION ALL
        SELECT NULL, value FROM jsonb_array_elements(CASE jsonb_typeof(p.body->'models') WHEN 'array' THEN p.body->'models' END)) e
    WHERE p.level = 'provider';

    SELECT format('%s "%s"', p.level, coalesce(p.model, p.provider_id)) INTO v_wrong FROM pg_temp.limits_parsed p
    WHERE jsonb_typeof(p.body) <> 'object' OR jsonb_typeof(coalesce(p.lim, '{}')) NOT IN ('object', 'null')
       OR (p.level = 'model' AND jsonb_typeof(coalesce(p.body->'pool', 'null')) NOT IN ('string', 'null'))
       OR (p.level <> 'global' AND p.provider_id IS NULL) OR (p.level = 'model' AND p.model IS NULL) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the entry % is not one: it needs a name, its rate_limit must be an object, its pool a name', v_wrong
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT format('%s of %s "%s"', k, p.level, coalesce(p.model, p.provider_id, '')) INTO v_wrong
    FROM pg_temp.limits_parsed p, jsonb_each(CASE jsonb_typeof(p.lim) WHEN 'object' THEN p.lim END) AS l (k, v)
    WHERE k NOT IN ('requests', 'window_ms', 'concurrent', 'shared')
       OR (k = 'shared' AND (jsonb_typeof(v) <> 'boolean' OR (p.level = 'model' AND v::boolean)))
       OR (k <> 'shared' AND NOT (jsonb_typeof(v) = 'null' OR v::text ~ '^[1-9][0-9]{0,9}$')) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'rate_limit: % is unknown or out of its range', v_wrong USING ERRCODE = 'invalid_parameter_value',
            HINT = 'requests, window_ms and concurrent are whole numbers from 1; shared is true or false, on a provider or globally.';
    END IF;
    RETURN QUERY SELECT p.level, p.provider_id, p.model,
        coalesce(p.body->>'provider', p.provider_id), coalesce(p.body->>'base_url', p.body->>'api_base'),
        p.body->>'api_key_file', coalesce(p.body->>'model_name', p.model),
        CASE p.level WHEN 'model' THEN p.body->>'pool' END, (p.lim->>'requests')::integer, (p.lim->>'window_ms')::bigint,
        (p.lim->>'concurrent')::integer, coalesce((p.lim->>'shared')::boolean, false)
    FROM pg_temp.limits_parsed p ORDER BY p.n, p.provider_id, p.model;
END $$;
