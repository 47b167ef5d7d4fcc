-- What follows an analysis: archive, notifications, the second opinion of a language model, cases, retention.

-- What a job of another kind than analyze is about: notify: the notification; escalate: the event.
ALTER TABLE camserver.inference_jobs ADD COLUMN ref_id bigint;
-- A camera's queue is its frames that wait for their analysis; follow-ups are not in its way.
DROP INDEX camserver.jobs_camera;
CREATE INDEX jobs_camera ON camserver.inference_jobs (camera_id)
    WHERE kind = 'analyze' AND status IN ('queued', 'waiting', 'running');

-- The specification's table 8.1, first match by position. Patterns: a tag, a group of tags (hazard.*), unknown_flag,
-- severity>=N. What matches no rule is normal. Dispatchers take a change over with their next heartbeat.
CREATE TABLE camserver.retention_rules (
    position        integer PRIMARY KEY,
    pattern         text NOT NULL CHECK (length(pattern) <= 128
        AND pattern ~ '^(unknown_flag|severity>=[0-3]|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)$'),
    retention_class camserver.retention_class NOT NULL CHECK (retention_class <> 'case')
);
INSERT INTO camserver.retention_rules (position, pattern, retention_class) VALUES
    (10, 'hazard.*', 'quarantine'),
    (20, 'camera.offline', 'quarantine'),
    (30, 'camera.moved', 'quarantine'),
    (40, 'camera.occluded', 'quarantine'),
    (50, 'behavior.loitering', 'quarantine'),
    (60, 'object_missing.suspected', 'quarantine'),
    (70, 'animal.deer', 'quarantine'),
    (80, 'animal.boar', 'quarantine'),
    (90, 'unknown_flag', 'quarantine'),
    (100, 'severity>=2', 'quarantine');

-- While a case is attached retention_class is case; what it was before stands here, for the day it is detached.
ALTER TABLE camserver.frames ADD COLUMN retention_before jsonb;
ALTER TABLE camserver.events ADD COLUMN retention_before jsonb;
ALTER TABLE camserver.events ADD CONSTRAINT events_case CHECK (
    (case_id IS NULL) = (retention_before IS NULL) AND (case_id IS NULL OR case_id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'));
CREATE INDEX events_case_id ON camserver.events (case_id) WHERE case_id IS NOT NULL;
-- Expiry, by class: of rows, and of images in the spool.
CREATE INDEX frames_kept ON camserver.frames (retention_class, received_at);
CREATE INDEX frames_spooled ON camserver.frames (retention_class, received_at) WHERE image_removed_at IS NULL;
CREATE INDEX events_kept ON camserver.events (retention_class, end_at) WHERE state = 'closed';

-- Where a frame's image lies in the archive: one object a frame, its name fixed by the frame.
CREATE TABLE camserver.archive_objects (
    frame_id    bigint PRIMARY KEY REFERENCES camserver.frames,
    driver      text NOT NULL CHECK (driver IN ('dir', 'rclone')),
    path        text NOT NULL CHECK (length(path) <= 512),
    bytes       integer NOT NULL,
    sha256      text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    archived_at timestamptz NOT NULL,
    spooled     boolean NOT NULL DEFAULT true,
    removed_at  timestamptz
) WITH (fillfactor = 80);
COMMENT ON COLUMN camserver.archive_objects.spooled IS 'The spool still has the image too.';
CREATE INDEX archive_objects_spooled ON camserver.archive_objects (archived_at) WHERE spooled;

-- Where notifications go. Secrets are in files that the row names: of a webhook the key of its signature, of SMTP
-- the password.
CREATE TABLE camserver.channels (
    channel_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
    kind         text NOT NULL CHECK (kind IN ('webhook', 'slack', 'smtp')),
    url          text NOT NULL CHECK (length(url) <= 2000),
    secret_file  text CHECK (secret_file ~ '^/' AND length(secret_file) <= 500),
    mail_user    text CHECK (length(mail_user) <= 200),
    mail_from    text CHECK (mail_from ~ '^[^[:space:]<>@]+@[^[:space:]<>@]+$' AND length(mail_from) <= 200),
    mail_to      text[] CHECK (cardinality(mail_to) BETWEEN 1 AND 50),
    min_severity smallint NOT NULL DEFAULT 0 CHECK (min_severity BETWEEN 0 AND 3),
    daily_hour   smallint CHECK (daily_hour BETWEEN 0 AND 23),
    daily_done   date,
    enabled      boolean NOT NULL DEFAULT true,
    created_at   timestamptz NOT NULL DEFAULT now(),
    CHECK (CASE kind WHEN 'smtp' THEN url ~ '^smtps?://[^/[:space:]]+' AND mail_from IS NOT NULL AND mail_to IS NOT NULL
        ELSE url ~ '^https?://[^/[:space:]]+' AND mail_from IS NULL AND mail_to IS NULL AND mail_user IS NULL END)
);
COMMENT ON COLUMN camserver.channels.daily_hour IS 'At this hour (setting summary_timezone) the last day''s summary goes out; NULL: none.';

-- One row per channel and thing to tell. pending: waits for its turn; sending: its job is in the queue or at work;
-- sent; suppressed: by a cooldown, counted; summarised: told in the summary that summary_id names; dead.
CREATE TABLE camserver.notifications (
    notification_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_uuid    uuid NOT NULL DEFAULT gen_random_uuid(),
    channel_id      integer NOT NULL REFERENCES camserver.channels ON DELETE CASCADE,
    kind            text NOT NULL DEFAULT 'event' CHECK (kind IN ('event', 'summary', 'daily', 'test')),
    state           text NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'suppressed', 'summarised', 'dead')),
    camera_id       text REFERENCES camserver.cameras,
    event_id        bigint REFERENCES camserver.events ON DELETE CASCADE,
    frame_id        bigint,
    primary_event   text,
    severity        smallint,
    rule            text,
    reason          text,
    count           integer NOT NULL DEFAULT 1,
    facts           jsonb,
    summary_id      bigint,
    job_id          bigint,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    sent_at         timestamptz,
    CHECK ((kind = 'event') = (event_id IS NOT NULL)),
    CHECK ((state = 'sent') = (sent_at IS NOT NULL))
) WITH (fillfactor = 80);
COMMENT ON COLUMN camserver.notifications.rule IS 'Why somebody is to be told: severity, hazard, camera_offline, unknown.';
COMMENT ON COLUMN camserver.notifications.reason IS 'Why it is in this state.';
COMMENT ON COLUMN camserver.notifications.count IS 'Frames that it stands for.';
CREATE INDEX notifications_open ON camserver.notifications (channel_id, camera_id, notification_id) WHERE state IN ('pending', 'sending');
CREATE INDEX notifications_sent ON camserver.notifications (channel_id, camera_id, sent_at) WHERE state = 'sent';
CREATE INDEX notifications_event ON camserver.notifications (event_id);
CREATE INDEX notifications_job ON camserver.notifications (job_id) WHERE state = 'sending';
CREATE INDEX notifications_age ON camserver.notifications (updated_at) WHERE state NOT IN ('pending', 'sending');

-- What a language model made of an event that the inference node did not understand; one per event.
CREATE TABLE camserver.llm_reviews (
    review_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id    bigint NOT NULL UNIQUE REFERENCES camserver.events ON DELETE CASCADE,
    frame_id    bigint NOT NULL,
    camera_id   text NOT NULL REFERENCES camserver.cameras,
    outcome     text NOT NULL CHECK (outcome IN ('pending', 'skipped', 'ok', 'refused', 'nonsense', 'error')),
    reason      text,
    model       text,
    summary     text,
    answer      jsonb,
    answer_text text,
    created_at  timestamptz NOT NULL,
    asked_at    timestamptz,
    finished_at timestamptz
);
COMMENT ON COLUMN camserver.llm_reviews.asked_at IS 'When it was put to the model''s queue; cooldown and daily cap count from it.';
CREATE INDEX llm_reviews_asked ON camserver.llm_reviews (camera_id, asked_at) WHERE asked_at IS NOT NULL;
CREATE INDEX llm_reviews_day ON camserver.llm_reviews (asked_at) WHERE asked_at IS NOT NULL;

INSERT INTO camserver.sweeps (name, interval_sec) VALUES
    ('notifications', 2), ('daily_summaries', 30), ('expired_rows', 60);

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('keep_normal_days',       '14',  'integer', 1, 36500,   'images, frames and events of class normal are kept this long'),
    ('keep_quarantine_days',   '60',  'integer', 1, 36500,   'images, frames and events of class quarantine are kept this long'),
    ('keep_spool_sec',         '86400', 'integer', 0, 31536000, 'an archived image stays in the spool this long'),
    ('keep_dead_days',         '60',  'integer', 1, 36500,   'dead jobs are kept this long'),
    ('archive_inflight',       '8',   'integer', 1, 100,     'images that one dispatcher archives at once'),
    ('archive_max_attempt',    '50',  'integer', 1, 1000,    'an archive job that failed this often is dead'),
    ('notify_max_attempt',     '20',  'integer', 1, 1000,    'a notification that failed this often is dead'),
    ('notify_event_sec',       '300', 'integer', 0, 86400,   'after a delivery: no other for the same camera and kind of event, unless more severe'),
    ('notify_camera_sec',      '60',  'integer', 0, 86400,   'after a delivery: no other for the same camera, unless more severe'),
    ('notify_stale_sec',       '300', 'integer', 1, 86400,   'undelivered notifications older than this are told in one summary'),
    ('notify_link_sec',        '3600', 'integer', 60, 86400, 'links to images in notifications are valid this long'),
    ('notify_keep_days',       '60',  'integer', 1, 3650,    'notifications are kept this long'),
    ('notify_language',        'ja',  'text', NULL, NULL,    'language of notifications: ja or en'),
    ('summary_timezone',       '',    'text', NULL, NULL,    'time zone of daily summaries and of the day that the daily cap counts; empty: the database''s'),
    ('escalate_camera_sec',    '600', 'integer', 0, 86400,   'one camera asks the language model at most this often'),
    ('escalate_daily_cap',     '50',  'integer', 0, 1000000, 'questions to the language model a day, all cameras'),
    ('escalate_timeout_sec',   '45',  'integer', 1, 150,     'longest wait for the language model''s answer'),
    ('escalate_max_attempt',   '5',   'integer', 1, 100,     'a question that failed this often is given up');

-- Take one more parameter than they did.
DROP FUNCTION IF EXISTS camserver.spool_expired(integer);
