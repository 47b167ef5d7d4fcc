-- queue: how many jobs of each kind are in each state, and the age of the oldest. What is over - done, cancelled - only
-- as of the last hour, its age counted from its end; so is that of the dead.
CREATE VIEW camserver.queue AS
SELECT kind, status, count(*) AS jobs, round(extract(epoch FROM clock_timestamp() - min(since)), 1) AS oldest_age_sec
FROM (
    -- One arm a state: each then is read from that state's own index.
    SELECT kind, status, created_at AS since FROM camserver.inference_jobs WHERE status = 'queued'
    UNION ALL
    SELECT kind, status, created_at FROM camserver.inference_jobs WHERE status = 'waiting'
    UNION ALL
    SELECT kind, status, created_at FROM camserver.inference_jobs WHERE status = 'running'
    UNION ALL
    SELECT kind, status, finished_at FROM camserver.inference_jobs WHERE status = 'dead'
    UNION ALL
    SELECT kind, status, finished_at FROM camserver.inference_jobs
    WHERE status IN ('done', 'cancelled') AND finished_at > now() - interval '1 hour'
) j
GROUP BY kind, status
ORDER BY kind, status;
