-- Expiry is decided in the database before a file is touched, and takes little at a time.

-- What was decided is what counts from then on: whoever gives an event to a case before keeps the image, whoever comes
-- after is told that it is gone. The row stays until its file has really been deleted.
ALTER TABLE camserver.archive_objects ADD COLUMN lingers boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT archive_objects_lingers CHECK (NOT lingers OR removed_at IS NOT NULL);
COMMENT ON COLUMN camserver.archive_objects.removed_at IS 'Since when it is no part of the archive any more.';
COMMENT ON COLUMN camserver.archive_objects.lingers IS 'Removed, but its file has yet to be deleted.';
CREATE INDEX archive_objects_lingering ON camserver.archive_objects (driver, removed_at) WHERE lingers;

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('expire_budget_ms',  '20', 'integer', 0, 1000, 'what expires is removed for this long at a time, or a slice'),
    ('expire_slice_rows', '20', 'integer', 1, 1000, 'rows that are removed before the time is looked at again');

-- Was a part of prune, which held what it had deleted locked meanwhile.
INSERT INTO camserver.sweeps (name, interval_sec) VALUES ('usage', 3600);
