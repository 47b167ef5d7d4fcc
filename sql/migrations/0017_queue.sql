-- Which cameras have so much in the queue that it is worth counting for each of their frames: found when all is counted, so
-- that a frame costs the same whatever waits.
ALTER TABLE camserver.queue_count ADD COLUMN crowded jsonb NOT NULL DEFAULT '[]';
COMMENT ON COLUMN camserver.queue_count.crowded IS 'Cameras that had half of camera_queue_max or more.';

-- Tokens are times now (job_token).
DROP SEQUENCE camserver.job_token_seq;
