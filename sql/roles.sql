-- Roles, the schema and its version table. Idempotent; the first thing `camctl db migrate` runs.
-- Needs CREATEROLE only while a role is missing.
DO $$
BEGIN
    IF to_regrole('camserver_owner') IS NULL THEN CREATE ROLE camserver_owner NOLOGIN; END IF;
    IF to_regrole('camserver_api') IS NULL THEN
        CREATE ROLE camserver_api LOGIN;
        -- A request is short; one that is not must not hold a worker.
        ALTER ROLE camserver_api SET statement_timeout = '5s';
    END IF;
    IF to_regrole('camserver_dispatcher') IS NULL THEN CREATE ROLE camserver_dispatcher LOGIN; END IF;
    IF to_regrole('camserver_manager') IS NULL THEN CREATE ROLE camserver_manager LOGIN; END IF;
    IF to_regrole('camserver_ops') IS NULL THEN
        CREATE ROLE camserver_ops LOGIN;
        GRANT pg_read_all_stats TO camserver_ops; -- the view xmin_age shows everybody's sessions
    END IF;
    IF NOT pg_has_role('camserver_owner', 'MEMBER') THEN
        EXECUTE format('GRANT camserver_owner TO %I', current_user);
    END IF;
    IF to_regnamespace('camserver') IS NULL THEN CREATE SCHEMA camserver AUTHORIZATION camserver_owner; END IF;
END $$;

-- Whatever the owner creates is closed until grants.sql opens it.
ALTER DEFAULT PRIVILEGES FOR ROLE camserver_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

SET LOCAL ROLE camserver_owner;

CREATE TABLE IF NOT EXISTS camserver.schema_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
