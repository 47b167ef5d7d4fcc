-- refusal_counts(): what was refused since counting began, over all hosts, by reason: of leases the error code, of frames,
-- model calls and workers the counter's name, those only if there were any. Internal. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.refusal_counts(OUT reason text, OUT refused bigint) RETURNS SETOF record
LANGUAGE plpgsql STABLE SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT upper(regexp_replace(h.name, '^lease_refused_', '')), sum(h.value)::bigint FROM host_counters h
    WHERE h.name LIKE 'lease\_refused\_%' OR h.name IN ('frames_refused_camera', 'frames_refused_queue',
        'backpressure_rejections_ingest', 'backpressure_rejections_gateway', 'permits_refused', 'pool_refused', 'no_node', 'nodes_full')
    GROUP BY h.name HAVING h.name LIKE 'lease\_refused\_%' OR sum(h.value) > 0;
END $$;
