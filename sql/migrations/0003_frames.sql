-- Frames become events: the frames, their tags, the events, and the queue of jobs that work on them.

-- In ascending strength: the strongest of an event's frames is the event's.
CREATE TYPE camserver.retention_class AS ENUM ('normal', 'quarantine', 'case');
CREATE TYPE camserver.event_state AS ENUM ('open', 'closed');
CREATE TYPE camserver.job_kind AS ENUM ('analyze', 'archive', 'notify', 'escalate');
-- queued: may be claimed now. waiting: not before available_at. The others are in nobody's way.
CREATE TYPE camserver.job_status AS ENUM ('queued', 'waiting', 'running', 'done', 'dead', 'cancelled');

-- Second key of the advisory lock that serialises a camera's events.
ALTER TABLE camserver.cameras ADD COLUMN lock_id integer GENERATED ALWAYS AS IDENTITY UNIQUE;

CREATE TABLE camserver.frames (
    frame_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    frame_uuid       uuid NOT NULL UNIQUE,
    camera_id        text NOT NULL REFERENCES camserver.cameras,
    captured_at      timestamptz NOT NULL,
    received_at      timestamptz NOT NULL,
    image_bytes      integer NOT NULL CHECK (image_bytes > 0),
    analyzed         boolean NOT NULL DEFAULT false,
    analyzed_at      timestamptz,
    detected         boolean,
    primary_event    text,
    unknown_flag     boolean,
    severity         smallint CHECK (severity BETWEEN 0 AND 3),
    confidence       real CHECK (confidence BETWEEN 0 AND 1),
    count_hint       integer,
    blur_score       real,
    result_json      jsonb,
    tags_json        jsonb,
    retention_class  camserver.retention_class NOT NULL DEFAULT 'normal',
    retention_reason text,
    event_id         bigint,
    image_removed_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX frames_camera_time ON camserver.frames (camera_id, captured_at DESC);
-- Images that go after a while; small, since those that are gone leave it.
CREATE INDEX frames_undetected ON camserver.frames (analyzed_at) WHERE analyzed AND NOT detected AND image_removed_at IS NULL;
CREATE INDEX frames_event ON camserver.frames (event_id, captured_at) WHERE event_id IS NOT NULL;

CREATE TABLE camserver.frame_tags (
    frame_id  bigint NOT NULL REFERENCES camserver.frames ON DELETE CASCADE,
    tag_id    text NOT NULL CHECK (length(tag_id) BETWEEN 1 AND 128),
    tag_group text NOT NULL,
    PRIMARY KEY (frame_id, tag_id)
);
CREATE INDEX frame_tags_tag ON camserver.frame_tags (tag_id, frame_id);

CREATE TABLE camserver.events (
    event_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_uuid       uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    camera_id        text NOT NULL REFERENCES camserver.cameras,
    start_at         timestamptz NOT NULL,
    last_seen_at     timestamptz NOT NULL,
    end_at           timestamptz,
    state            camserver.event_state NOT NULL DEFAULT 'open',
    close_reason     text CHECK (close_reason IN ('gap', 'changed', 'stale')),
    primary_event    text NOT NULL,
    severity_max     smallint NOT NULL,
    confidence_max   real,
    best_frame_id    bigint,
    best_score       double precision,
    frame_count      integer NOT NULL DEFAULT 1,
    retention_class  camserver.retention_class NOT NULL,
    retention_reason text,
    case_id          text,
    summary          text,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CHECK (start_at <= last_seen_at),
    CHECK ((state = 'closed') = (end_at IS NOT NULL AND close_reason IS NOT NULL))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX events_one_open ON camserver.events (camera_id) WHERE state = 'open';
CREATE INDEX events_stale ON camserver.events (last_seen_at) WHERE state = 'open';
CREATE INDEX events_newest ON camserver.events (start_at DESC, event_id DESC);
CREATE INDEX events_kind ON camserver.events (primary_event, start_at DESC, event_id DESC);
CREATE INDEX events_camera ON camserver.events (camera_id, start_at DESC, event_id DESC);

CREATE TABLE camserver.event_tags (
    event_id  bigint NOT NULL REFERENCES camserver.events ON DELETE CASCADE,
    tag_id    text NOT NULL,
    tag_group text NOT NULL,
    PRIMARY KEY (event_id, tag_id)
);

CREATE SEQUENCE camserver.job_token_seq;

CREATE TABLE camserver.inference_jobs (
    job_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         camserver.job_kind NOT NULL DEFAULT 'analyze',
    status       camserver.job_status NOT NULL DEFAULT 'queued',
    priority     smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
    camera_id    text NOT NULL,
    frame_id     bigint,
    captured_at  timestamptz NOT NULL,
    attempt      smallint NOT NULL DEFAULT 0,
    max_attempt  smallint NOT NULL DEFAULT 8,
    created_at   timestamptz NOT NULL,
    available_at timestamptz NOT NULL,
    locked_by    uuid,
    locked_token bigint,
    locked_at    timestamptz,
    deadline_at  timestamptz,
    finished_at  timestamptz,
    last_error   text,
    CHECK ((status = 'running') = (locked_token IS NOT NULL))
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.1,
        autovacuum_vacuum_cost_delay = 0);
COMMENT ON COLUMN camserver.inference_jobs.locked_token IS
    'Given by the claim, never given again: a write for the job must carry it and the job must still be running.';
-- Each state has its own narrow index, and only the states that somebody looks for have one.
CREATE INDEX jobs_queued ON camserver.inference_jobs (kind, priority DESC, job_id) WHERE status = 'queued';
CREATE INDEX jobs_waiting ON camserver.inference_jobs (available_at) WHERE status = 'waiting';
CREATE INDEX jobs_running ON camserver.inference_jobs (locked_by) WHERE status = 'running';
CREATE INDEX jobs_deadline ON camserver.inference_jobs (deadline_at) WHERE status = 'running';
CREATE INDEX jobs_dead ON camserver.inference_jobs (finished_at) WHERE status = 'dead';
CREATE INDEX jobs_ended ON camserver.inference_jobs (finished_at) WHERE status IN ('done', 'cancelled');
CREATE INDEX jobs_camera ON camserver.inference_jobs (camera_id) WHERE status IN ('queued', 'waiting', 'running');
CREATE INDEX jobs_frame ON camserver.inference_jobs (frame_id);

-- A dispatcher that found nothing to do sleeps until it is notified; only then is a NOTIFY worth its cost.
ALTER TABLE camserver.dispatchers ADD COLUMN idle boolean NOT NULL DEFAULT false;

-- Tag schemas that inference nodes are told to speak.
CREATE TABLE camserver.schema_versions (
    schema_version text PRIMARY KEY CHECK (length(schema_version) BETWEEN 1 AND 64),
    schema         jsonb NOT NULL CHECK (jsonb_typeof(schema->'tags') = 'array'),
    created_at     timestamptz NOT NULL DEFAULT now()
);

-- The tags of each schema, to look up one by one.
CREATE TABLE camserver.schema_tags (
    schema_version   text NOT NULL REFERENCES camserver.schema_versions ON DELETE CASCADE,
    tag_id           text NOT NULL,
    tag_group        text NOT NULL,
    label_ja         text,
    severity_default smallint,
    notify_allowed   boolean NOT NULL DEFAULT true,
    retention_hint   text,
    PRIMARY KEY (schema_version, tag_id)
);

-- One push of a schema to a node at a time, whoever noticed the mismatch.
CREATE TABLE camserver.schema_pushes (
    node_url       text PRIMARY KEY,
    schema_version text NOT NULL,
    pushed_by      uuid NOT NULL,
    started_at     timestamptz NOT NULL,
    finished_at    timestamptz,
    accepted       boolean,
    error          text
);

INSERT INTO camserver.sweeps (name, interval_sec) VALUES ('jobs', 2), ('events', 5);

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('event_merge_gap_sec',    '90',  'integer', 1, 86400,   'a detection this long after the last one still belongs to the same event'),
    ('event_close_grace_sec',  '120', 'integer', 1, 86400,   'an event without a detection for this long is closed'),
    ('job_deadline_sec',       '60',  'integer', 1, 3600,    'a job that runs longer is given to somebody else'),
    ('job_max_attempt',        '8',   'integer', 1, 100,     'a job that failed this often is dead'),
    ('job_max_age_sec',        '0',   'integer', 0, 8640000, 'a frame older than this is not analysed any more; 0: any age'),
    ('job_backoff_base_ms',    '1000', 'integer', 1, 600000, 'the first wait after a failure; doubles with each'),
    ('job_backoff_max_ms',     '60000', 'integer', 1, 3600000, 'the longest wait after a failure'),
    ('job_keep_hours',         '24',  'integer', 1, 8760,    'done and cancelled jobs are kept this long'),
    ('camera_queue_max',       '500', 'integer', 1, 1000000, 'one camera may have this many jobs waiting; more frames are refused'),
    ('keep_undetected_sec',    '3600', 'integer', 1, 31536000, 'images in which nothing was detected are kept this long'),
    ('analyze_inflight',       '8',   'integer', 1, 1000,    'requests to inference nodes that one dispatcher has under way at once');
UPDATE camserver.settings SET min_value = 1 WHERE name = 'dispatcher_stale_sec';

-- The schema that a fresh installation speaks.
INSERT INTO camserver.schema_versions (schema_version, schema) VALUES ('2025-12-28.1', $json$
{"schema_version": "2025-12-28.1",
 "primary_events": ["none", "human", "animal", "vehicle", "hazard", "camera_issue", "object_missing", "unknown"],
 "tag_groups": ["animal", "behavior", "camera", "hazard", "human", "motion", "object_missing", "vehicle"],
 "tags": [
        {"id": "human.presence", "group": "human", "label_ja": "人物", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "human.multiple", "group": "human", "label_ja": "複数人", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "behavior.loitering", "group": "behavior", "label_ja": "うろつき", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "behavior.running", "group": "behavior", "label_ja": "走行", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "animal.presence", "group": "animal", "label_ja": "動物", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "animal.deer", "group": "animal", "label_ja": "鹿", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "animal.boar", "group": "animal", "label_ja": "猪", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "animal.cat", "group": "animal", "label_ja": "猫", "severity_default": 0, "notify_allowed": false, "retention_hint": "normal"},
        {"id": "animal.dog", "group": "animal", "label_ja": "犬", "severity_default": 0, "notify_allowed": false, "retention_hint": "normal"},
        {"id": "vehicle.presence", "group": "vehicle", "label_ja": "車両", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "vehicle.car", "group": "vehicle", "label_ja": "自動車", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "vehicle.truck", "group": "vehicle", "label_ja": "トラック", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "hazard.fire", "group": "hazard", "label_ja": "火災", "severity_default": 3, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "hazard.smoke", "group": "hazard", "label_ja": "煙", "severity_default": 3, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "hazard.flood", "group": "hazard", "label_ja": "浸水", "severity_default": 3, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "camera.offline", "group": "camera", "label_ja": "カメラ停止", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "camera.moved", "group": "camera", "label_ja": "カメラ移動", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "camera.occluded", "group": "camera", "label_ja": "カメラ遮蔽", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "camera.dark", "group": "camera", "label_ja": "暗すぎる", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "camera.glare", "group": "camera", "label_ja": "白飛び", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "camera.blur", "group": "camera", "label_ja": "ぼけ", "severity_default": 1, "notify_allowed": true, "retention_hint": "normal"},
        {"id": "object_missing.suspected", "group": "object_missing", "label_ja": "物品なくなりの疑い", "severity_default": 2, "notify_allowed": true, "retention_hint": "quarantine"},
        {"id": "motion.detected", "group": "motion", "label_ja": "動き", "severity_default": 0, "notify_allowed": false, "retention_hint": "normal"}
    ]}
$json$);

INSERT INTO camserver.schema_tags (schema_version, tag_id, tag_group, label_ja, severity_default, notify_allowed, retention_hint)
SELECT v.schema_version, t->>'id', t->>'group', t->>'label_ja', (t->>'severity_default')::smallint,
    (t->>'notify_allowed')::boolean, t->>'retention_hint'
FROM camserver.schema_versions v, jsonb_array_elements(v.schema->'tags') t;

-- Returns more than it did.
DROP FUNCTION IF EXISTS camserver.dispatcher_heartbeat(uuid);
