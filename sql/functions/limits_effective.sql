-- limits_effective(model): the limits that hold for the model, or for all, field by field: the model's own, else its
-- provider's, else the global one, else the default (10 requests, 60000 ms, 1 at a time); and which level each came from.
CREATE OR REPLACE FUNCTION camserver.limits_effective(p_model text DEFAULT NULL) RETURNS TABLE (
    model text, provider_id text, requests integer, requests_from text, window_ms bigint, window_ms_from text,
    concurrent integer, concurrent_from text, shared text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT x.model, x.provider_id,
        coalesce(m.requests, p.requests, g.requests, 10),
        CASE WHEN m.requests IS NOT NULL THEN 'model' WHEN p.requests IS NOT NULL THEN 'provider'
            WHEN g.requests IS NOT NULL THEN 'global' ELSE 'default' END,
        coalesce(m.window_ms, p.window_ms, g.window_ms, 60000),
        CASE WHEN m.window_ms IS NOT NULL THEN 'model' WHEN p.window_ms IS NOT NULL THEN 'provider'
            WHEN g.window_ms IS NOT NULL THEN 'global' ELSE 'default' END,
        coalesce(m.concurrent, p.concurrent, g.concurrent, 1),
        CASE WHEN m.concurrent IS NOT NULL THEN 'model' WHEN p.concurrent IS NOT NULL THEN 'provider'
            WHEN g.concurrent IS NOT NULL THEN 'global' ELSE 'default' END,
        concat_ws(', ', CASE WHEN g.shared THEN 'global' END, CASE WHEN p.shared THEN 'provider' END)
    FROM models x
    LEFT JOIN rate_limits g ON g.level = 'global'
    LEFT JOIN rate_limits p ON p.level = 'provider' AND p.provider_id = x.provider_id
    LEFT JOIN rate_limits m ON m.level = 'model' AND m.model = x.model
    WHERE p_model IS NULL OR x.model = p_model
    ORDER BY x.provider_id, x.model;
END $$;
