-- model_list(): the models that can be called. Returns jsonb: outcome OK, models [{model, provider, created}].
CREATE OR REPLACE FUNCTION camserver.model_list() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN jsonb_build_object('outcome', 'OK', 'models', coalesce((SELECT jsonb_agg(jsonb_build_object('model', m.model,
        'provider', m.provider_id, 'created', floor(extract(epoch FROM m.created_at)), 'created_at', rfc3339(m.created_at))
        ORDER BY m.model) FROM models m WHERE m.enabled), '[]'));
END $$;
