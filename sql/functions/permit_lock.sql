-- permit_lock(models, further buckets): what every change of permits begins with. Returns the time, read after the locks.
-- Locks: 'limits' shared (limits stay as they are), then the rows of all buckets that calls of these models draw from,
-- global, provider, model, ascending. Who has the row of a shared bucket may lock models below it later, in any order:
-- nobody else can have them.
CREATE OR REPLACE FUNCTION camserver.permit_lock(p_models text[], p_buckets integer[] DEFAULT '{}') RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(lock_class('limits'), 0);
    PERFORM 1 FROM buckets b WHERE b.bucket_id = ANY (p_buckets || ARRAY(
        SELECT unnest(m.bucket_ids) FROM unnest(p_models) AS w (model)
        CROSS JOIN LATERAL (SELECT * FROM models x WHERE x.model = w.model LIMIT 1) m))
    ORDER BY b.level, b.bucket_id FOR UPDATE;
    RETURN clock_timestamp();
END $$;
