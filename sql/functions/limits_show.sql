-- limits_show(): every limit as it was said, as it is in effect with the level that each field came from, and how the models
-- stand. Returns jsonb: outcome OK, global, providers, models. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.limits_show() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN jsonb_build_object('outcome', 'OK',
        'global', (SELECT to_jsonb(l) - '{level,provider_id,model,updated_at}'::text[] FROM rate_limits l WHERE l.level = 'global'),
        'providers', coalesce((SELECT jsonb_agg(jsonb_build_object('provider', p.provider_id, 'kind', p.kind,
                'base_url', p.base_url, 'rate_limit', to_jsonb(l) - '{level,provider_id,model,updated_at}'::text[]) ORDER BY p.provider_id)
            FROM providers p LEFT JOIN rate_limits l ON l.level = 'provider' AND l.provider_id = p.provider_id), '[]'),
        'models', coalesce((SELECT jsonb_agg(to_jsonb(v)) FROM model_limits v), '[]'));
END $$;
