-- dead_jobs: the jobs that were given up and why, latest first. job_retry(job_id) gives one all its attempts again.
CREATE VIEW camserver.dead_jobs AS
SELECT j.job_id, j.kind, j.camera_id, f.frame_uuid, j.attempt, j.max_attempt, j.created_at, j.finished_at, j.last_error
FROM camserver.inference_jobs j LEFT JOIN camserver.frames f ON f.frame_id = j.frame_id
WHERE j.status = 'dead'
ORDER BY j.finished_at DESC;
