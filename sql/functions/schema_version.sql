-- schema_version(): the newest migration applied. What /readyz compares with what the program was built for.
CREATE OR REPLACE FUNCTION camserver.schema_version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
    SELECT coalesce(max(version), 0) FROM schema_migrations
$$;
