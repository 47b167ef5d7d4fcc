-- limits_load(config): takes over a configuration file (see limits_parse): its providers, models and limits become what the
-- file says; a level that the file has without a field inherits that field from now on, and a model
-- without a pool has none. What the file does not name stays.
-- Returns jsonb: outcome OK, providers, models (how many the file has). Locks: 'limits' exclusive.
CREATE OR REPLACE FUNCTION camserver.limits_load(p_config jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_row record;
    v_providers integer := 0;
    v_models integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(lock_class('limits'), 0);
    FOR v_row IN SELECT * FROM limits_parse(p_config) LOOP
        IF v_row.level = 'provider' THEN
            INSERT INTO providers AS p (provider_id, kind, base_url, api_key_file)
            VALUES (v_row.provider_id, v_row.kind, v_row.base_url, v_row.api_key_file)
            ON CONFLICT (provider_id) DO UPDATE SET kind = excluded.kind,
                base_url = coalesce(excluded.base_url, p.base_url), api_key_file = coalesce(excluded.api_key_file, p.api_key_file);
            v_providers := v_providers + 1;
        ELSIF v_row.level = 'model' THEN
            IF v_row.pool IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pools WHERE name = v_row.pool) THEN
                RAISE EXCEPTION 'the model "%" names the pool "%", which does not exist', v_row.model, v_row.pool
                    USING ERRCODE = 'invalid_parameter_value', HINT = '`camctl pool add` makes it.';
            END IF;
            INSERT INTO models (model, provider_id, upstream_name, pool)
            VALUES (v_row.model, v_row.provider_id, v_row.upstream_name, v_row.pool)
            ON CONFLICT (model) DO UPDATE SET provider_id = excluded.provider_id, upstream_name = excluded.upstream_name,
                pool = excluded.pool;
            v_models := v_models + 1;
        END IF;
        DELETE FROM rate_limits l WHERE l.level = v_row.level
            AND coalesce(l.provider_id, l.model, '') = coalesce(v_row.model, v_row.provider_id, '');
        IF coalesce(v_row.requests, v_row.window_ms, v_row.concurrent) IS NOT NULL OR v_row.shared THEN
            INSERT INTO rate_limits (level, provider_id, model, requests, window_ms, concurrent, shared)
            VALUES (v_row.level, CASE v_row.level WHEN 'provider' THEN v_row.provider_id END,
                CASE v_row.level WHEN 'model' THEN v_row.model END, v_row.requests, v_row.window_ms, v_row.concurrent,
                v_row.shared);
        END IF;
    END LOOP;
    PERFORM limits_apply();
    RETURN jsonb_build_object('outcome', 'OK', 'providers', v_providers, 'models', v_models);
END $$;
