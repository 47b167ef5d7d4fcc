-- refusals: lease requests that were refused, by reason, over all hosts since counting began.
CREATE VIEW camserver.refusals AS
SELECT upper(substr(name, length('lease_refused_') + 1)) AS reason, sum(value)::bigint AS refused,
    max(updated_at) AS last_change
FROM camserver.host_counters
WHERE name LIKE 'lease_refused_%'
GROUP BY name
ORDER BY refused DESC;
