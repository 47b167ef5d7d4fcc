-- Inference nodes: who serves which model where, and what the programs that call them have found.

CREATE TABLE camserver.nodes (
    name         text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    base_url     text NOT NULL CHECK (base_url ~ '^https?://[!-~]+$' AND length(base_url) <= 400),
    models       text[] NOT NULL CHECK (cardinality(models) BETWEEN 1 AND 100 AND array_position(models, NULL) IS NULL),
    max_inflight integer NOT NULL DEFAULT 32 CHECK (max_inflight BETWEEN 1 AND 10000),
    weight       double precision NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0.01 AND 100),
    http2        boolean NOT NULL DEFAULT false,
    health_path  text NOT NULL DEFAULT '/healthz' CHECK (health_path ~ '^/[!-~]*$' AND length(health_path) <= 200),
    draining     boolean NOT NULL DEFAULT false,
    configured   boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX nodes_models ON camserver.nodes USING gin (models);
COMMENT ON COLUMN camserver.nodes.max_inflight IS 'Calls that one program may have under way at it.';
COMMENT ON COLUMN camserver.nodes.weight IS 'Its share among nodes that are equally fast and equally loaded.';
COMMENT ON COLUMN camserver.nodes.configured IS 'Made by IS21_BASE_URL, and follows it.';

-- What each process last said of each node that it calls; a process that is silent for a minute does not count.
CREATE TABLE camserver.node_reports (
    node        text NOT NULL REFERENCES camserver.nodes ON DELETE CASCADE,
    reporter_id uuid NOT NULL,
    reporter    text NOT NULL,
    reported_at timestamptz NOT NULL,
    out_until   timestamptz,
    reason      text,
    inflight    integer NOT NULL,
    latency_ms  double precision,
    requests    bigint NOT NULL,
    failures    bigint NOT NULL,
    ejections   bigint NOT NULL,
    PRIMARY KEY (node, reporter_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
COMMENT ON COLUMN camserver.node_reports.out_until IS 'Not called before then, and then only by a probe; NULL: it is called.';
