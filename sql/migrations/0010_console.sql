-- The console: who changed what, and the last day minute by minute.

-- One row for every change that an operator makes, written in the transaction that makes it.
CREATE TABLE camserver.audit (
    audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL,
    actor    text NOT NULL CHECK (length(actor) <= 200),
    action   text NOT NULL,
    subject  text NOT NULL,
    before   jsonb,
    after    jsonb
);
CREATE INDEX audit_at ON camserver.audit (at);
COMMENT ON COLUMN camserver.audit.actor IS 'The API''s caller (user:, token:), or db: and the database user of camctl or psql.';
COMMENT ON COLUMN camserver.audit.before IS 'Of what was changed, the fields that differ; NULL: there was nothing.';

-- What plots show. A minute's rows are written anew until it is over.
CREATE TABLE camserver.minute_history (
    minute timestamptz NOT NULL,
    series text NOT NULL CHECK (length(series) <= 100),
    value  double precision NOT NULL,
    PRIMARY KEY (minute, series)
) WITH (fillfactor = 70);

INSERT INTO camserver.sweeps (name, interval_sec) VALUES ('history', 10);

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('camera_offline_sec', '60',  'integer', 1, 86400, 'a camera without a frame for this long is shown as offline'),
    ('audit_keep_days',    '365', 'integer', 1, 36500, 'the record of operators'' changes is kept this long');
