-- Stream admission: servers with a budget, cameras on them, leases, viewers, host health.

CREATE TYPE camserver.stream_quality AS ENUM ('sub', 'main');

-- One row per streaming host: its budget parameters.
CREATE TABLE camserver.stream_servers (
    stream_server_id    text PRIMARY KEY CHECK (stream_server_id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    lock_id             integer GENERATED ALWAYS AS IDENTITY UNIQUE,
    host                text,
    total_units         integer NOT NULL DEFAULT 50 CHECK (total_units BETWEEN 0 AND 1000000),
    baseline_units      integer NOT NULL DEFAULT 5 CHECK (baseline_units BETWEEN 0 AND 1000000),
    max_ui_users        integer NOT NULL DEFAULT 10 CHECK (max_ui_users BETWEEN 0 AND 1000000),
    sub_cost            integer NOT NULL DEFAULT 1 CHECK (sub_cost BETWEEN 1 AND 1000),
    main_cost           integer NOT NULL DEFAULT 2 CHECK (main_cost BETWEEN 1 AND 1000),
    modal_ttl_sec       integer NOT NULL DEFAULT 300 CHECK (modal_ttl_sec BETWEEN 1 AND 86400),
    heartbeat_interval_sec integer NOT NULL DEFAULT 30 CHECK (heartbeat_interval_sec BETWEEN 1 AND 3600),
    heartbeat_grace_sec integer NOT NULL DEFAULT 45 CHECK (heartbeat_grace_sec BETWEEN 1 AND 7200),
    stream_url_template text NOT NULL DEFAULT 'wss://camserver/stream/{camera_id}',
    created_at          timestamptz NOT NULL DEFAULT now(),
    CHECK (heartbeat_grace_sec >= heartbeat_interval_sec)
);
COMMENT ON COLUMN camserver.stream_servers.host IS 'Whose health refuses its leases; set by the first dispatcher that starts with this STREAM_SERVER.';
COMMENT ON COLUMN camserver.stream_servers.lock_id IS 'Second key of the advisory lock that serialises grants on this server.';

-- The hot row of a server. units_cap is the budget as it was at the last grant: a grant that would pass it
-- is an error, whatever the code above it believed.
CREATE TABLE camserver.stream_usage (
    stream_server_id text PRIMARY KEY REFERENCES camserver.stream_servers ON DELETE CASCADE,
    active_modals    integer NOT NULL DEFAULT 0 CHECK (active_modals >= 0),
    units_used       integer NOT NULL DEFAULT 0 CHECK (units_used >= 0),
    units_cap        integer NOT NULL DEFAULT 0,
    next_dead_at     timestamptz NOT NULL DEFAULT 'infinity',
    CONSTRAINT no_over_admission CHECK (units_used <= units_cap)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON COLUMN camserver.stream_usage.next_dead_at IS
    'No lease of this server can be dead before this; heartbeats only make it later, so they need not touch it.';

CREATE TABLE camserver.cameras (
    camera_id        text PRIMARY KEY CHECK (camera_id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    display_name     text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 200),
    location_label   text CHECK (length(location_label) <= 200),
    stream_server_id text NOT NULL DEFAULT 'default' REFERENCES camserver.stream_servers,
    stream_url       text CHECK (length(stream_url) <= 2000),
    enabled          boolean NOT NULL DEFAULT true,
    suggest_weight   integer NOT NULL DEFAULT 5 CHECK (suggest_weight BETWEEN 0 AND 10),
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cameras_server ON camserver.cameras (stream_server_id);

-- A lease is dead when expires_at has come or the last heartbeat is more than its grace ago, swept or not.
-- last_heartbeat is in no index, so that a heartbeat is one in-page (HOT) update.
CREATE TABLE camserver.modal_leases (
    lease_id         uuid PRIMARY KEY,
    user_id          text NOT NULL CHECK (length(user_id) <= 128),
    camera_id        text NOT NULL REFERENCES camserver.cameras,
    stream_server_id text NOT NULL,
    quality          camserver.stream_quality NOT NULL DEFAULT 'sub',
    units            integer NOT NULL CHECK (units > 0),
    grace_sec        integer NOT NULL,
    created_at       timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    last_heartbeat   timestamptz NOT NULL,
    CONSTRAINT uq_leases_user UNIQUE (user_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
CREATE INDEX idx_leases_expires ON camserver.modal_leases (stream_server_id, expires_at);
CREATE INDEX modal_leases_camera ON camserver.modal_leases (camera_id);

-- Why a lease ended; answers a late heartbeat with 410 and an operator's question with the reason.
CREATE TABLE camserver.modal_lease_log (
    lease_id   uuid PRIMARY KEY,
    user_id    text NOT NULL,
    camera_id  text NOT NULL,
    quality    camserver.stream_quality NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    end_reason text NOT NULL CHECK (end_reason IN ('released', 'ttl', 'heartbeat', 'revoked'))
);
CREATE INDEX modal_lease_log_ended ON camserver.modal_lease_log (ended_at);

CREATE TABLE camserver.ui_sessions (
    user_id       text PRIMARY KEY CHECK (length(user_id) <= 128),
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX ui_sessions_seen ON camserver.ui_sessions (last_seen_at);

-- The camera to look at now: one for all users.
CREATE TABLE camserver.suggest_state (
    singleton       boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    camera_id       text REFERENCES camserver.cameras ON DELETE SET NULL,
    score           numeric NOT NULL DEFAULT 0,
    reason          text,
    started_at      timestamptz,
    scored_at       timestamptz,
    expires_at      timestamptz NOT NULL DEFAULT '-infinity',
    active_ui_users integer NOT NULL DEFAULT 0
) WITH (fillfactor = 20);
COMMENT ON COLUMN camserver.suggest_state.score IS 'As of scored_at; it loses 1 a second from there.';
COMMENT ON COLUMN camserver.suggest_state.active_ui_users IS 'Counted by the sessions sweep, so that a grant need not count.';

CREATE TABLE camserver.system_health (
    host             text PRIMARY KEY,
    seq              bigint NOT NULL DEFAULT 0,
    sampled_at       timestamptz NOT NULL,
    sampled_by       uuid,
    cpu_percent      numeric(5,2) NOT NULL,
    memory_percent   numeric(5,2) NOT NULL,
    swap_mb          numeric(12,1) NOT NULL,
    level            text NOT NULL CHECK (level IN ('normal', 'warning', 'overload')),
    overloaded       boolean NOT NULL,
    last_overload_at timestamptz,
    reason           text
) WITH (fillfactor = 20);

CREATE TABLE camserver.admission_metrics (
    metric_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recorded_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    active_modals    integer NOT NULL,
    active_suggest   boolean NOT NULL,
    cpu_percent      numeric(5,2) NOT NULL,
    memory_percent   numeric(5,2) NOT NULL,
    requests_total   bigint NOT NULL,
    rejections_total bigint NOT NULL,
    units_used       integer NOT NULL,
    modal_budget     integer NOT NULL,
    active_ui_users  integer NOT NULL
);
CREATE INDEX idx_metrics_time ON camserver.admission_metrics (recorded_at);

INSERT INTO camserver.stream_servers (stream_server_id) VALUES ('default');
INSERT INTO camserver.stream_usage (stream_server_id) VALUES ('default');
INSERT INTO camserver.suggest_state DEFAULT VALUES;

INSERT INTO camserver.sweeps (name, interval_sec) VALUES
    ('leases', 10), ('sessions', 10), ('admission_metrics', 10), ('prune', 3600);

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('overload_cpu_percent',    '85',  'number',  1, 100,     'CPU use above this trips the overload valve'),
    ('overload_memory_percent', '90',  'number',  1, 100,     'memory use above this trips the overload valve'),
    ('overload_swap_mb',        '100', 'number',  0, 1000000, 'swap use above this trips the overload valve'),
    ('recover_cpu_percent',     '60',  'number',  1, 100,     'the valve opens again only with CPU use below this'),
    ('recover_memory_percent',  '70',  'number',  1, 100,     'the valve opens again only with memory use below this'),
    ('recover_swap_mb',         '50',  'number',  0, 1000000, 'the valve opens again only with swap use below this'),
    ('recover_hold_sec',        '60',  'integer', 0, 3600,    'the valve opens again only this long after the last trip'),
    ('warning_cpu_percent',     '70',  'number',  1, 100,     'CPU use above this is shown as warning'),
    ('warning_memory_percent',  '75',  'number',  1, 100,     'memory use above this is shown as warning'),
    ('warning_swap_mb',         '50',  'number',  0, 1000000, 'swap use above this is shown as warning'),
    ('health_stale_sec',        '30',  'integer', 1, 3600,    'a sample older than this is not trusted: shown as not healthy, refuses nothing'),
    ('ui_active_sec',           '60',  'integer', 5, 3600,    'a viewer counts as active this long after the last poll'),
    ('suggest_start_score',     '50',  'number',  0, 10000,   'a camera is suggested from this score on'),
    ('suggest_switch_ratio',    '1.2', 'number',  1, 100,     'another camera takes over at this multiple of the current score'),
    ('suggest_ttl_sec',         '60',  'integer', 1, 3600,    'a suggestion lasts this long'),
    ('suggest_pause_sec',       '10',  'integer', 0, 3600,    'no new suggestion for this long after one ended'),
    ('metrics_keep_hours',      '24',  'integer', 1, 8760,    'admission_metrics and the lease log are kept this long'),
    ('dispatcher_stale_sec',    '30',  'integer', 5, 3600,    'a dispatcher silent for longer counts as dead');
