-- throughput: jobs done in each minute of the last hour, and how long they took from their creation on.
CREATE VIEW camserver.throughput AS
SELECT date_trunc('minute', finished_at) AS minute, kind, count(*) AS done,
    round(avg(extract(epoch FROM finished_at - created_at)), 1) AS avg_sec,
    round(max(extract(epoch FROM finished_at - created_at)), 1) AS max_sec
FROM camserver.inference_jobs
WHERE status = 'done' AND finished_at > now() - interval '1 hour'
GROUP BY minute, kind
ORDER BY minute DESC, kind;
