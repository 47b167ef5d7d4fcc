-- A worker that has no address for its health, such as one with AWS's Lambda runtime interface emulator, which answers
-- 404 to all but invocations: health_path 'any' takes whatever it answers for a sign that it is there.
ALTER TABLE camserver.pools DROP CONSTRAINT pools_health_path_check,
    ADD CONSTRAINT pools_health_path_check CHECK (health_path = 'any' OR (health_path ~ '^/[!-~]*$' AND length(health_path) <= 512));
