-- The ground: tunables, callers, the processes that work on the queue, and who swept what when.

CREATE TYPE camserver.caller_role AS ENUM ('viewer', 'ingest', 'operator');

-- Typed, checked tunables. Changed with `camctl setting set` or plain UPDATE; effective without a restart.
CREATE TABLE camserver.settings (
    name        text PRIMARY KEY,
    value       text NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('integer', 'number', 'boolean', 'text')),
    min_value   numeric,
    max_value   numeric,
    description text NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE camserver.users (
    user_name  text PRIMARY KEY CHECK (length(user_name) BETWEEN 1 AND 120),
    role       camserver.caller_role NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE camserver.users IS 'Roles of the names that the web server signs in (REMOTE_USER); others are viewers.';

CREATE TABLE camserver.api_tokens (
    token_id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    token_sha256 bytea NOT NULL UNIQUE CHECK (length(token_sha256) = 32),
    role         camserver.caller_role NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE UNIQUE INDEX api_tokens_live_name ON camserver.api_tokens (name) WHERE revoked_at IS NULL;
COMMENT ON TABLE camserver.api_tokens IS 'Bearer tokens; only the SHA-256 of a token is kept.';

-- One row per process start, never per host name: a restarted dispatcher is a new one.
CREATE TABLE camserver.dispatchers (
    dispatcher_id  uuid PRIMARY KEY,
    host           text NOT NULL,
    pid            integer NOT NULL,
    version        text NOT NULL,
    started_at     timestamptz NOT NULL,
    last_heartbeat timestamptz NOT NULL,
    stopped_at     timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

-- Periodic work. Whichever dispatcher finds a row due does it; the row's lock keeps it to one.
CREATE TABLE camserver.sweeps (
    name         text PRIMARY KEY,
    interval_sec integer NOT NULL CHECK (interval_sec > 0),
    next_run_at  timestamptz NOT NULL DEFAULT '-infinity',
    last_run_at  timestamptz,
    last_by      uuid,
    last_count   bigint,
    last_ms      numeric,
    last_error   text
) WITH (fillfactor = 50);

-- Counters that each host's programs keep in shared memory, reported as absolute values: a report that is
-- repeated, or sent by two dispatchers of one host, changes nothing.
CREATE TABLE camserver.host_counters (
    host       text NOT NULL,
    name       text NOT NULL,
    epoch      text NOT NULL,
    value      bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (host, name, epoch)
) WITH (fillfactor = 50);
COMMENT ON COLUMN camserver.host_counters.epoch IS 'The life of the shared memory that value counts in; a new life starts at 0.';
