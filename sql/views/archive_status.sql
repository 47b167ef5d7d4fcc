-- The archive by class: objects, bytes, and the oldest; and the jobs that wait for it.
CREATE OR REPLACE VIEW camserver.archive_status AS
SELECT f.retention_class, o.driver, count(*) AS objects, sum(o.bytes) AS bytes, min(f.captured_at) AS oldest
FROM camserver.archive_objects o JOIN camserver.frames f USING (frame_id) WHERE o.removed_at IS NULL
GROUP BY f.retention_class, o.driver ORDER BY f.retention_class, o.driver;
