-- What measurements of the queue asked for (doc/PERFORMANCE.md).

-- Return something else than they did, or take more.
DROP FUNCTION IF EXISTS camserver.job_complete(bigint[], bigint[], camserver.job_kind[]);
DROP FUNCTION IF EXISTS camserver.job_claim(camserver.job_kind, uuid, integer, text, integer);
DROP FUNCTION IF EXISTS camserver.job_take(camserver.job_kind, uuid, integer, text);
DROP FUNCTION IF EXISTS camserver.job_pick(camserver.job_kind, integer);
DROP FUNCTION IF EXISTS camserver.event_apply(text, bigint, timestamptz, text, smallint, real, double precision,
    camserver.retention_class, text);
DROP FUNCTION IF EXISTS camserver.analysis_follow(jsonb, bigint[], bigint[]);

-- A job changes its state twice, and each time every index that it is in takes an entry: with four of them that was a third
-- of what a job costs. An analysis is found from its frame by the frame's row, and only other kinds need an index for it.
ALTER TABLE camserver.frames ADD COLUMN analyze_job_id bigint;
COMMENT ON COLUMN camserver.frames.analyze_job_id IS 'The job of its analysis; that is forgotten before the frame is.';
UPDATE camserver.frames f SET analyze_job_id = j.job_id FROM camserver.inference_jobs j WHERE j.frame_id = f.frame_id AND j.kind = 'analyze';
DROP INDEX camserver.jobs_frame;
CREATE INDEX jobs_frame ON camserver.inference_jobs (frame_id) WHERE kind <> 'analyze';
-- A camera's queue is what waits, not what is at work.
DROP INDEX camserver.jobs_camera;
CREATE INDEX jobs_camera ON camserver.inference_jobs (camera_id) WHERE kind = 'analyze' AND status IN ('queued', 'waiting');
-- The others look at all that run. In the order of their tokens new entries go to the end.
DROP INDEX camserver.jobs_running;
CREATE INDEX jobs_running ON camserver.inference_jobs (locked_token) WHERE status = 'running';
-- Each of a job's states is another entry in its key's index, beside the first.
ALTER INDEX camserver.inference_jobs_pkey SET (fillfactor = 50);
