UPDATE job SET state = 1, attempts = attempts + 1, locked_by = :client_id, locked_until = now() + interval '30 s' WHERE id = (SELECT id FROM job WHERE state = 0 AND run_at <= now() ORDER BY priority, run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id \gset
UPDATE job SET state = 2, done_at = now() WHERE id = :id AND state = 1 AND locked_by = :client_id;
