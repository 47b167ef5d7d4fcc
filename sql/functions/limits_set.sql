-- limits_set(level, name, changes): changes one level's limits; effective at once, for those who wait too.
--   p_name     the provider or model; ignored for the global level
--   p_changes  any of requests, window_ms, concurrent (null: inherit again), shared (provider and global), pool (model;
--              null: none)
-- Returns jsonb: outcome OK, or UNKNOWN_PROVIDER, UNKNOWN_MODEL, UNKNOWN_POOL, or BAD_REQUEST with what is wrong.
-- Locks: 'limits' exclusive.
CREATE OR REPLACE FUNCTION camserver.limits_set(p_level camserver.limit_level, p_name text, p_changes jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_wrong text;
    v_name text := CASE p_level WHEN 'global' THEN '' ELSE p_name END;
BEGIN
    SELECT format('"%s" must be %s', k, CASE WHEN k = 'shared' THEN 'true or false, on a provider or globally'
        WHEN k = 'pool' THEN 'the name of a pool, or null, on a model'
        WHEN k IN ('requests', 'window_ms', 'concurrent') THEN 'a whole number from 1, or null'
        ELSE 'one of requests, window_ms, concurrent, shared, pool' END) INTO v_wrong
    FROM jsonb_each(p_changes) AS c (k, v)
    WHERE k NOT IN ('requests', 'window_ms', 'concurrent', 'shared', 'pool')
       OR (k = 'pool' AND (jsonb_typeof(v) NOT IN ('string', 'null') OR p_level <> 'model'))
       OR (k = 'shared' AND (jsonb_typeof(v) <> 'boolean' OR (p_level = 'model' AND v::boolean)))
       OR (k IN ('requests', 'concurrent') AND NOT (jsonb_typeof(v) = 'null' OR v::text ~ '^[1-9][0-9]{0,5}$'))
       OR (k = 'window_ms' AND NOT (jsonb_typeof(v) = 'null' OR (v::text ~ '^[1-9][0-9]{0,9}$' AND v::bigint <= 2678400000))) LIMIT 1;
    IF FOUND OR p_changes = '{}' THEN
        RETURN jsonb_build_object('outcome', 'BAD_REQUEST', 'detail', coalesce(v_wrong, 'nothing to change'));
    END IF;
    PERFORM pg_advisory_xact_lock(lock_class('limits'), 0);
    IF p_level = 'provider' AND NOT EXISTS (SELECT 1 FROM providers WHERE provider_id = p_name) THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_PROVIDER');
    ELSIF p_level = 'model' AND NOT EXISTS (SELECT 1 FROM models WHERE model = p_name) THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_MODEL');
    ELSIF p_changes->>'pool' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pools WHERE name = p_changes->>'pool') THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_POOL');
    END IF;
    UPDATE models SET pool = p_changes->>'pool' WHERE p_changes ? 'pool' AND model = p_name;
    INSERT INTO rate_limits (level, provider_id, model)
    VALUES (p_level, CASE p_level WHEN 'provider' THEN p_name END, CASE p_level WHEN 'model' THEN p_name END)
    ON CONFLICT (level, coalesce(provider_id, model, '')) DO NOTHING;
    UPDATE rate_limits l SET
        requests = CASE WHEN p_changes ? 'requests' THEN (p_changes->>'requests')::integer ELSE l.requests END,
        window_ms = CASE WHEN p_changes ? 'window_ms' THEN (p_changes->>'window_ms')::bigint ELSE l.window_ms END,
        concurrent = CASE WHEN p_changes ? 'concurrent' THEN (p_changes->>'concurrent')::integer ELSE l.concurrent END,
        shared = coalesce((p_changes->>'shared')::boolean, l.shared), updated_at = clock_timestamp()
    WHERE l.level = p_level AND coalesce(l.provider_id, l.model, '') = v_name;
    PERFORM limits_apply();
    RETURN limits_show();
END $$;
