-- Model-call limits: who provides which model, the limits of each level, their token buckets, the permits to call, and
-- who waits for one.

CREATE TYPE camserver.limit_level AS ENUM ('global', 'provider', 'model'); -- in the order of locking

CREATE TABLE camserver.providers (
    provider_id  text PRIMARY KEY CHECK (provider_id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    kind         text NOT NULL DEFAULT 'openai' CHECK (length(kind) BETWEEN 1 AND 64),
    base_url     text CHECK (base_url ~ '^https?://' AND length(base_url) <= 500),
    api_key_file text CHECK (api_key_file ~ '^/' AND length(api_key_file) <= 500),
    created_at   timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN camserver.providers.api_key_file IS 'The gateway reads the key from this file at each call; the key itself is nowhere in the database.';

CREATE TABLE camserver.models (
    model         text PRIMARY KEY CHECK (model ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,127}$'),
    provider_id   text NOT NULL REFERENCES camserver.providers,
    upstream_name text NOT NULL CHECK (length(upstream_name) BETWEEN 1 AND 200),
    enabled       boolean NOT NULL DEFAULT true,
    bucket_ids    integer[] NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX models_provider ON camserver.models (provider_id);
COMMENT ON COLUMN camserver.models.bucket_ids IS 'What a call draws from: its own bucket, and those of the levels above that are shared. Written by limits_apply.';

-- What was said at each level; a field that is NULL is inherited from the level above, and from the defaults last.
CREATE TABLE camserver.rate_limits (
    level       camserver.limit_level NOT NULL,
    provider_id text REFERENCES camserver.providers ON DELETE CASCADE,
    model       text REFERENCES camserver.models ON DELETE CASCADE,
    requests    integer CHECK (requests BETWEEN 1 AND 1000000),
    window_ms   bigint CHECK (window_ms BETWEEN 1 AND 2678400000),
    concurrent  integer CHECK (concurrent BETWEEN 1 AND 1000000),
    shared      boolean NOT NULL DEFAULT false,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    CHECK ((level = 'provider') = (provider_id IS NOT NULL) AND (level = 'model') = (model IS NOT NULL)),
    CHECK (NOT shared OR level <> 'model')
);
CREATE UNIQUE INDEX rate_limits_name ON camserver.rate_limits (level, coalesce(provider_id, model, ''));

-- The hot row of a level. tokens are whole; remainder counts what has come of the next one, in units of
-- 1/(1000 window_ms) token, which is what one request per window gains in a microsecond: nothing is rounded away.
CREATE TABLE camserver.buckets (
    bucket_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    level       camserver.limit_level NOT NULL,
    name        text NOT NULL,
    requests    integer NOT NULL,
    window_ms   bigint NOT NULL,
    concurrent  integer NOT NULL,
    tokens      integer NOT NULL CHECK (tokens >= 0),
    remainder   bigint NOT NULL DEFAULT 0 CHECK (remainder >= 0),
    refilled_at timestamptz NOT NULL,
    running     integer NOT NULL DEFAULT 0 CHECK (running >= 0),
    waiting     integer NOT NULL DEFAULT 0 CHECK (waiting >= 0),
    turn        bigint NOT NULL DEFAULT 0,
    call_ms     real NOT NULL DEFAULT 0,
    UNIQUE (level, name),
    CONSTRAINT no_more_than_full CHECK (tokens < requests OR (tokens = requests AND remainder = 0)),
    CONSTRAINT remainder_is_a_fraction CHECK (remainder < window_ms * 1000)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON COLUMN camserver.buckets.running IS 'Permits that name this bucket; changes only together with their rows.';
COMMENT ON COLUMN camserver.buckets.turn IS 'The turn of the last waiter that was served; see permit_waiters.turn.';
COMMENT ON COLUMN camserver.buckets.call_ms IS 'How long calls take, smoothed; only for telling waiters what to expect.';

-- A permit is the right to have one call under way. It ends with its release, or by itself when its holder is silent.
CREATE TABLE camserver.permits (
    permit_id  uuid PRIMARY KEY,
    model      text NOT NULL REFERENCES camserver.models,
    caller     text NOT NULL CHECK (length(caller) <= 200),
    holder     uuid NOT NULL,
    bucket_ids integer[] NOT NULL,
    asked_at   timestamptz NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    fresh      boolean NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
CREATE INDEX permits_model ON camserver.permits (model);
CREATE INDEX permits_holder ON camserver.permits (holder);
COMMENT ON COLUMN camserver.permits.holder IS 'The process that has it, one uuid per process start.';
COMMENT ON COLUMN camserver.permits.fresh IS 'Granted to a waiter that has not been told yet.';

-- Served by turn, then ticket: a caller''s next request is a turn later than its last, so callers alternate, and each
-- caller''s own are served in the order they came.
CREATE SEQUENCE camserver.permit_ticket_seq;
CREATE TABLE camserver.permit_waiters (
    permit_id   uuid PRIMARY KEY,
    ticket      bigint NOT NULL,
    model       text NOT NULL REFERENCES camserver.models,
    caller      text NOT NULL CHECK (length(caller) <= 200),
    holder      uuid NOT NULL,
    turn        bigint NOT NULL,
    asked_at    timestamptz NOT NULL,
    deadline_at timestamptz NOT NULL,
    seen_until  timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
CREATE UNIQUE INDEX permit_waiters_order ON camserver.permit_waiters (model, turn, ticket);
CREATE INDEX permit_waiters_holder ON camserver.permit_waiters (holder);
CREATE INDEX permit_waiters_caller ON camserver.permit_waiters (model, caller);
COMMENT ON COLUMN camserver.permit_waiters.seen_until IS 'The holder is believed alive until then; a waiter of a silent process is passed over.';

-- The last turn of callers that are ahead of their model''s queue.
CREATE TABLE camserver.permit_turns (
    model  text NOT NULL REFERENCES camserver.models ON DELETE CASCADE,
    caller text NOT NULL,
    turn   bigint NOT NULL,
    PRIMARY KEY (model, caller)
) WITH (fillfactor = 50);

-- Every call that was asked for, once it is over.
CREATE TABLE camserver.permit_calls (
    call_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model      text NOT NULL,
    caller     text NOT NULL,
    asked_at   timestamptz NOT NULL,
    granted_at timestamptz,
    ended_at   timestamptz NOT NULL,
    outcome    text NOT NULL CHECK (outcome IN ('released', 'expired', 'refused', 'deadline', 'cancelled', 'lost')),
    level      camserver.limit_level
);
CREATE INDEX permit_calls_ended ON camserver.permit_calls (ended_at);
CREATE INDEX permit_calls_model ON camserver.permit_calls (model, ended_at);
COMMENT ON COLUMN camserver.permit_calls.outcome IS
    'released; expired: its holder fell silent; refused: at once; deadline: waited in vain; cancelled: left while waiting; lost: the process of the waiter fell silent';

INSERT INTO camserver.sweeps (name, interval_sec) VALUES ('permits', 2);

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('permit_ttl_sec',          '30',   'integer', 1, 3600,    'a permit whose holder has been silent for this long is free again'),
    ('permit_wait_sec',         '30',   'integer', 0, 3600,    'a model call waits this long for its permit unless it says otherwise'),
    ('permit_queue_max',        '2000', 'integer', 0, 1000000, 'calls that may wait for one model; more are refused at once'),
    ('permit_queue_caller_max', '500',  'integer', 0, 1000000, 'of which one caller may have this many'),
    ('permit_calls_keep_hours', '24',   'integer', 1, 8760,    'the record of model calls is kept this long');
