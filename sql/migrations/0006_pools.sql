-- Worker pools: what may run, what does run, who holds it, who waits for it.

-- wanted: somebody should start it. starting: a manager does. stopping: a manager stops it; its slot is free already.
-- gone: nothing runs any more; kept for a while for its reason.
CREATE TYPE camserver.worker_state AS ENUM ('wanted', 'starting', 'idle', 'in_use', 'stopping', 'gone');

CREATE TABLE camserver.pools (
    name                text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    lock_id             integer GENERATED ALWAYS AS IDENTITY UNIQUE,
    driver              text NOT NULL DEFAULT 'exec' CHECK (driver IN ('exec', 'docker')),
    command             text[] NOT NULL DEFAULT '{}',
    image               text,
    environment         jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(environment) = 'object'),
    host                text,
    max_capacity        integer NOT NULL DEFAULT 50 CHECK (max_capacity BETWEEN 0 AND 10000),
    min_idle            integer NOT NULL DEFAULT 0 CHECK (min_idle BETWEEN 0 AND 10000),
    max_waiters         integer NOT NULL DEFAULT 1000 CHECK (max_waiters BETWEEN 0 AND 100000),
    idle_timeout_sec    numeric NOT NULL DEFAULT 300 CHECK (idle_timeout_sec BETWEEN 0.1 AND 31536000),
    acquire_timeout_sec numeric CHECK (acquire_timeout_sec BETWEEN 0 AND 3600),
    start_timeout_sec   numeric NOT NULL DEFAULT 30 CHECK (start_timeout_sec BETWEEN 0.1 AND 3600),
    stop_grace_sec      numeric NOT NULL DEFAULT 10 CHECK (stop_grace_sec BETWEEN 0 AND 600),
    health_path         text NOT NULL DEFAULT '/healthz' CHECK (health_path ~ '^/[!-~]*$' AND length(health_path) <= 512),
    call_path           text NOT NULL DEFAULT '/v1/analyze' CHECK (call_path ~ '^/[!-~]*$' AND length(call_path) <= 512),
    container_port      integer CHECK (container_port BETWEEN 1 AND 65535),
    memory_mb           integer CHECK (memory_mb BETWEEN 1 AND 1048576),
    open_files          integer CHECK (open_files BETWEEN 16 AND 1048576),
    draining            boolean NOT NULL DEFAULT false,
    -- learned and counted
    start_ms            double precision,
    starts_ok           bigint NOT NULL DEFAULT 0,
    starts_failed       bigint NOT NULL DEFAULT 0,
    fail_streak         integer NOT NULL DEFAULT 0,
    retry_at            timestamptz,
    last_error          text,
    last_error_at       timestamptz,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    CHECK (driver <> 'exec' OR cardinality(command) > 0),
    CHECK (driver <> 'docker' OR image <> '')
) WITH (fillfactor = 50);
COMMENT ON COLUMN camserver.pools.lock_id IS 'Second key of the advisory lock that serialises the pool.';
COMMENT ON COLUMN camserver.pools.host IS 'The manager host that runs its workers; NULL: any.';
COMMENT ON COLUMN camserver.pools.acquire_timeout_sec IS 'NULL: the caller''s POOL_ACQUIRE_TIMEOUT.';
COMMENT ON COLUMN camserver.pools.container_port IS 'The port that the image listens on, published on the host; NULL: the host''s network and $PORT.';
COMMENT ON COLUMN camserver.pools.start_ms IS 'Moving average of the time from the start to the first healthy answer.';

-- One row per process start; the newest of a host is the host's manager, the functions refuse any other.
CREATE TABLE camserver.managers (
    host           text PRIMARY KEY,
    manager_id     uuid NOT NULL UNIQUE,
    pid            integer NOT NULL,
    version        text NOT NULL,
    started_at     timestamptz NOT NULL,
    last_heartbeat timestamptz NOT NULL,
    stopped_at     timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

-- Processes that hold workers or wait for them.
CREATE TABLE camserver.pool_holders (
    holder_id      uuid PRIMARY KEY,
    name           text NOT NULL,
    interval_sec   numeric NOT NULL CHECK (interval_sec > 0),
    first_seen     timestamptz NOT NULL,
    last_heartbeat timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
COMMENT ON COLUMN camserver.pool_holders.interval_sec IS 'How often it says that it lives; three of these without a word and it is dead.';

CREATE SEQUENCE camserver.worker_token_seq;

CREATE TABLE camserver.workers (
    worker_id    uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    pool         text NOT NULL REFERENCES camserver.pools ON DELETE CASCADE,
    state        camserver.worker_state NOT NULL DEFAULT 'wanted',
    token        bigint NOT NULL DEFAULT nextval('camserver.worker_token_seq'),
    driver       text,
    host         text,
    address      text,
    port         integer,
    holder_id    uuid,
    picked_up    boolean NOT NULL DEFAULT false,
    calls        bigint NOT NULL DEFAULT 0,
    start_ms     double precision,
    requested_at timestamptz NOT NULL,
    started_at   timestamptz,
    ready_at     timestamptz,
    granted_at   timestamptz,
    idle_since   timestamptz,
    ended_at     timestamptz,
    reason       text,
    CHECK ((state = 'in_use') = (holder_id IS NOT NULL)),
    CHECK (state NOT IN ('idle', 'in_use') OR (host IS NOT NULL AND address IS NOT NULL AND port IS NOT NULL)),
    CHECK ((state = 'gone') = (ended_at IS NOT NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
COMMENT ON COLUMN camserver.workers.token IS
    'New with every grant and every start, never given again: a write for the worker must carry it.';
COMMENT ON COLUMN camserver.workers.picked_up IS 'in_use: the holder knows; before that no call can have been made.';
CREATE INDEX workers_live ON camserver.workers (pool) WHERE state <> 'gone';
CREATE INDEX workers_host ON camserver.workers (host) WHERE state <> 'gone';
CREATE INDEX workers_holder ON camserver.workers (holder_id) WHERE holder_id IS NOT NULL;
CREATE INDEX workers_ended ON camserver.workers (ended_at) WHERE state = 'gone';

-- Every change of a worker's state that there is.
CREATE TABLE camserver.worker_transitions (
    from_state camserver.worker_state NOT NULL,
    to_state   camserver.worker_state NOT NULL,
    what       text NOT NULL,
    PRIMARY KEY (from_state, to_state)
);
INSERT INTO camserver.worker_transitions (from_state, to_state, what) VALUES
    ('wanted',   'starting', 'a manager takes the start on'),
    ('wanted',   'gone',     'not needed any more'),
    ('starting', 'idle',     'it answers its health probe'),
    ('starting', 'stopping', 'it does not come up, or is not wanted any more'),
    ('starting', 'gone',     'it ended during its start'),
    ('idle',     'in_use',   'granted'),
    ('idle',     'stopping', 'idle too long, draining or over capacity'),
    ('idle',     'gone',     'it ended by itself'),
    ('in_use',   'idle',     'released'),
    ('in_use',   'stopping', 'evicted, or its holder died'),
    ('in_use',   'gone',     'it ended during a call'),
    ('stopping', 'gone',     'stopped');

CREATE TABLE camserver.worker_waiters (
    ticket       uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    position     bigint GENERATED ALWAYS AS IDENTITY,
    pool         text NOT NULL REFERENCES camserver.pools ON DELETE CASCADE,
    holder_id    uuid NOT NULL,
    requested_at timestamptz NOT NULL,
    deadline_at  timestamptz NOT NULL,
    worker_id    uuid,
    token        bigint,
    CHECK ((worker_id IS NULL) = (token IS NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE camserver.worker_waiters IS 'In order of position; one with a worker has been granted it and only has to hear of it.';
CREATE UNIQUE INDEX worker_waiters_order ON camserver.worker_waiters (pool, position) WHERE worker_id IS NULL;
CREATE INDEX worker_waiters_granted ON camserver.worker_waiters (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX worker_waiters_holder ON camserver.worker_waiters (holder_id);

INSERT INTO camserver.sweeps (name, interval_sec) VALUES ('pools', 2);

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('pool_max_starting',    '10',    'integer', 1, 1000,    'workers that one manager starts at a time; further starts wait'),
    ('pool_start_tries',     '3',     'integer', 1, 100,     'starts of a pool that fail in a row before callers are refused at once'),
    ('pool_backoff_base_ms', '1000',  'integer', 1, 600000,  'the first pause after a failed start; doubles with each'),
    ('pool_backoff_max_ms',  '60000', 'integer', 1, 3600000, 'the longest pause after failed starts'),
    ('manager_stale_sec',    '15',    'integer', 1, 3600,    'a manager that is silent for this long is dead');
