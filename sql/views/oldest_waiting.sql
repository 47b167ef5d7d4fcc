-- oldest_waiting: the 50 jobs that have been there longest without being worked on, and what they wait for.
CREATE VIEW camserver.oldest_waiting AS
SELECT j.job_id, j.kind, j.status, j.priority, j.camera_id,
    (SELECT f.frame_uuid FROM camserver.frames f WHERE f.frame_id = j.frame_id) AS frame_uuid,
    round(extract(epoch FROM clock_timestamp() - j.created_at), 1) AS age_sec,
    CASE WHEN j.status = 'waiting'
        THEN greatest(0, round(extract(epoch FROM j.available_at - clock_timestamp()), 1)) END AS next_try_sec,
    j.attempt, j.max_attempt, j.last_error
FROM (
    (SELECT * FROM camserver.inference_jobs WHERE status = 'queued' ORDER BY job_id LIMIT 50)
    UNION ALL
    (SELECT * FROM camserver.inference_jobs WHERE status = 'waiting' ORDER BY job_id LIMIT 50)
) j
ORDER BY j.job_id LIMIT 50;
