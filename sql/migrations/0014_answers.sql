-- What answers in a hurry took: status and refusals, ingest, /metrics.

-- It returns more.
DROP FUNCTION IF EXISTS camserver.lease_facts(text, text, timestamptz);

-- Cameras are found by their whole name: bytes are compared faster than words of a language.
DROP INDEX camserver.frames_camera_time;
CREATE INDEX frames_camera_time ON camserver.frames (camera_id text_pattern_ops, captured_at DESC);
