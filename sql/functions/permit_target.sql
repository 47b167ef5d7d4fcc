-- permit_target(model, provider): where a call of the model goes, as an answer tells it. Inlined.
CREATE OR REPLACE FUNCTION camserver.permit_target(p_model camserver.models, p_provider camserver.providers) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('provider', p_model.provider_id, 'upstream_name', p_model.upstream_name, 'kind', p_provider.kind,
        'base_url', p_provider.base_url, 'api_key_file', p_provider.api_key_file, 'pool', p_model.pool)
$$;
