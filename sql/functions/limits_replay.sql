-- limits_replay(config, hours): what `camctl limits simulate` needs: the calls of the last hours with their models' limits as
-- this configuration would make them. Models that the configuration does not name keep theirs. Returns rows in the order of
-- asking: model, asked_us and run_us (a call that never ran counts as its model's average), was (the outcome it had),
-- limits: an array of [key, requests, window_ms, concurrent], one for each bucket that it would draw from.
CREATE OR REPLACE FUNCTION camserver.limits_replay(p_config jsonb, p_hours numeric)
RETURNS TABLE (model text, asked_us bigint, run_us bigint, was text, waited_us bigint, limits jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_since timestamptz := clock_timestamp() - make_interval(secs => p_hours::float8 * 3600);
BEGIN
    RETURN QUERY
    WITH said AS MATERIALIZED (SELECT * FROM limits_parse(p_config)),
    owner AS (SELECT m.model, coalesce((SELECT s.provider_id FROM said s WHERE s.level = 'model' AND s.model = m.model), m.provider_id) AS provider_id
        FROM models m),
    merged AS (
        SELECT o.model, o.provider_id, g.shared AS g_shared, p.shared AS p_shared,
            coalesce(g.requests, 10) AS gr, coalesce(g.window_ms, 60000) AS gw, coalesce(g.concurrent, 1) AS gc,
            coalesce(p.requests, g.requests, 10) AS pr, coalesce(p.window_ms, g.window_ms, 60000) AS pw, coalesce(p.concurrent, g.concurrent, 1) AS pc,
            coalesce(m.requests, p.requests, g.requests, 10) AS mr, coalesce(m.window_ms, p.window_ms, g.window_ms, 60000) AS mw,
            coalesce(m.concurrent, p.concurrent, g.concurrent, 1) AS mc
        FROM owner o
        LEFT JOIN LATERAL (SELECT x.* FROM (SELECT 1 AS n, s.requests, s.window_ms, s.concurrent, s.shared FROM said s WHERE s.level = 'global'
            UNION ALL SELECT 2, l.requests, l.window_ms, l.concurrent, l.shared FROM rate_limits l WHERE l.level = 'global') x ORDER BY x.n LIMIT 1) g ON true
        LEFT JOIN LATERAL (SELECT x.* FROM (SELECT 1 AS n, s.requests, s.window_ms, s.concurrent, s.shared FROM said s WHERE s.level = 'provider' AND s.provider_id = o.provider_id
            UNION ALL SELECT 2, l.requests, l.window_ms, l.concurrent, l.shared FROM rate_limits l WHERE l.level = 'provider' AND l.provider_id = o.provider_id) x ORDER BY x.n LIMIT 1) p ON true
        LEFT JOIN LATERAL (SELECT x.* FROM (SELECT 1 AS n, s.requests, s.window_ms, s.concurrent FROM said s WHERE s.level = 'model' AND s.model = o.model
            UNION ALL SELECT 2, l.requests, l.window_ms, l.concurrent FROM rate_limits l WHERE l.level = 'model' AND l.model = o.model) x ORDER BY x.n LIMIT 1) m ON true
    ), average AS (
        SELECT c.model, avg(extract(epoch FROM c.ended_at - c.granted_at)) AS sec FROM permit_calls c
        WHERE c.asked_at > v_since AND c.outcome = 'released' GROUP BY c.model
    )
    SELECT c.model, (extract(epoch FROM c.asked_at) * 1000000)::bigint,
        (coalesce(extract(epoch FROM c.ended_at - c.granted_at), a.sec, 0) * 1000000)::bigint, c.outcome,
        (extract(epoch FROM coalesce(c.granted_at, c.ended_at) - c.asked_at) * 1000000)::bigint,
        CASE WHEN m.g_shared THEN jsonb_build_array(jsonb_build_array('global', m.gr, m.gw, m.gc)) ELSE '[]' END
        || CASE WHEN m.p_shared THEN jsonb_build_array(jsonb_build_array('provider ' || m.provider_id, m.pr, m.pw, m.pc)) ELSE '[]' END
        || jsonb_build_array(jsonb_build_array('model ' || m.model, m.mr, m.mw, m.mc))
    FROM permit_calls c JOIN merged m ON m.model = c.model LEFT JOIN average a ON a.model = c.model
    WHERE c.asked_at > v_since ORDER BY c.asked_at, c.call_id;
END $$;
