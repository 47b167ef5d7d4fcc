-- Backpressure on frames: the count that no request makes, the refusal, and what an accepted frame's sender is told.
BEGIN;
SELECT plan(29);

CREATE FUNCTION pg_temp.ingest(p_n integer) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.frame_ingest('t', ('00000000-0000-0000-0000-' || lpad(p_n::text, 12, '0'))::uuid, 't_bp', now(), 0, 10) $$;
-- So many analyses wait, and everybody knows.
CREATE FUNCTION pg_temp.fill(p_n integer, p_status camserver.job_status DEFAULT 'queued') RETURNS void LANGUAGE sql AS $$
    DELETE FROM camserver.inference_jobs;
    INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at)
    SELECT 'analyze', p_status, 't_other', now(), now(), now() + interval '1 day' FROM generate_series(1, p_n);
    UPDATE camserver.queue_count SET counted_at = '-infinity' $$;
CREATE FUNCTION pg_temp.load() RETURNS integer LANGUAGE sql AS $$ SELECT (camserver.queue_load()->>'queued')::integer $$;
SELECT camserver.camera_set('t_bp') \g /dev/null
SELECT camserver.setting_set('ingest_queue_max', '100') \g /dev/null

SELECT pg_temp.fill(3) \g /dev/null
SELECT is(camserver.queue_load(), '{"queued": 3, "max": 100, "warning_percent": 50, "overload_percent": 80, "delay_ms": 100, "crowded": []}',
    'the specification''s numbers');
DELETE FROM camserver.inference_jobs;
SELECT is(pg_temp.load(), 3, 'a count of a moment ago is good enough');
UPDATE camserver.queue_count SET counted_at = clock_timestamp() - interval '501 ms';
SELECT is(pg_temp.load(), 0, 'an older one is not');
SELECT pg_temp.fill(5, 'waiting') \g /dev/null
SELECT is(pg_temp.load(), 5, 'those in backoff wait, too');
INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at, locked_token, finished_at)
SELECT k, s, 't_other', now(), now(), now(), CASE s WHEN 'running' THEN 1 END, CASE WHEN s IN ('done', 'dead', 'cancelled') THEN now() END
FROM unnest(ARRAY['analyze', 'archive']::camserver.job_kind[]) k,
     unnest(ARRAY['running', 'done', 'dead', 'cancelled']::camserver.job_status[]) s;
INSERT INTO camserver.inference_jobs (kind, camera_id, captured_at, created_at, available_at) VALUES ('notify', 't_other', now(), now(), now());
UPDATE camserver.queue_count SET counted_at = '-infinity';
SELECT is(pg_temp.load(), 5, 'nothing else counts');
SELECT pg_temp.fill(500) \g /dev/null
SELECT is(pg_temp.load(), 100, 'nobody counts further than needed');

SELECT pg_temp.fill(49) \g /dev/null
SELECT is(pg_temp.ingest(1) ? 'queue', false, 'below the warning there is nothing to say');
SELECT pg_temp.fill(50) \g /dev/null
SELECT is(pg_temp.ingest(2)->'queue', '{"queued": 50, "max": 100, "warning_percent": 50, "overload_percent": 80, "delay_ms": 100}',
    'from the warning on the numbers come with the frame');
SELECT is(pg_temp.ingest(2), jsonb_build_object('outcome', 'ACCEPTED', 'duplicate', true,
    'frame_uuid', '00000000-0000-0000-0000-000000000002', 'job_id', (SELECT max(job_id) FROM camserver.inference_jobs)),
    'not with one that we have');
SELECT pg_temp.fill(79) \g /dev/null
SELECT is(pg_temp.ingest(3)->>'outcome', 'ACCEPTED', 'right below the overload it is accepted');
SELECT pg_temp.fill(80) \g /dev/null
SELECT is(pg_temp.ingest(4), '{"outcome": "QUEUE_FULL", "retry_after": 5, "queue": 80, "queue_max": 100, "load_percent": 80.0}',
    'and from there on refused, with the numbers');
SELECT is((SELECT count(*) FROM camserver.frames WHERE frame_uuid = '00000000-0000-0000-0000-000000000004'), 0::bigint, 'it leaves nothing');
SELECT is(pg_temp.ingest(3)->>'duplicate', 'true', 'one that we have is not refused');
SELECT is(camserver.system_status()->'queue'->>'queued', '80', 'status tells the queue');

-- Changes count at once.
SELECT camserver.setting_set('backpressure_overload_percent', '90') \g /dev/null
SELECT is(pg_temp.ingest(5)->>'outcome', 'ACCEPTED', 'another threshold');
SELECT camserver.setting_set('ingest_queue_max', '80') \g /dev/null
SELECT is(pg_temp.ingest(6)->>'outcome', 'QUEUE_FULL', 'another size');
SELECT throws_ok($$SELECT camserver.setting_set('backpressure_overload_percent', '101')$$, '22023', NULL, 'no nonsense');

-- The gateway is told with every exchange.
SELECT is(camserver.permit_exchange(gen_random_uuid(), '{"renew": []}')->'backpressure',
    '{"max": 0, "warning_percent": 50, "overload_percent": 90, "delay_ms": 100}', 'the gateway''s limits');

-- What /metrics is told.
CREATE TEMP TABLE told AS SELECT * FROM camserver.metrics_snapshot();
SELECT is((SELECT value FROM told WHERE name = 'camserver_queue_size' AND label_value = 'ingest'), 80::float8, 'the queue''s size');
SELECT is((SELECT value FROM told WHERE name = 'camserver_queue_limit' AND label_value = 'ingest'), 80::float8, 'and limit');
SELECT is((SELECT count(*) FROM told WHERE name = 'camserver_jobs'), 16::bigint, 'every kind and state of jobs');
SELECT is((SELECT value FROM told WHERE name = 'camserver_jobs' AND label_value = 'analyze' AND label2_value = 'queued'),
    (SELECT count(*) FROM camserver.inference_jobs WHERE kind = 'analyze' AND status = 'queued')::float8, 'as many as there are');
SELECT is((SELECT string_agg(DISTINCT name, ', ') FROM told WHERE value IS NULL), NULL, 'no number is missing');
SELECT is((SELECT count(*) FROM (SELECT 1 FROM told GROUP BY name, label_value, label2_value HAVING count(*) > 1) x), 0::bigint,
    'nothing is told twice');
-- A camera's own share. With a limit that is not small it is counted when all is counted.
DELETE FROM camserver.inference_jobs;
SELECT camserver.setting_set('ingest_queue_max', '10000') \g /dev/null
SELECT camserver.setting_set('camera_queue_max', '200') \g /dev/null
SELECT pg_temp.fill(99) \g /dev/null
SELECT is(camserver.queue_load()->'crowded', '[]', 'a camera that has less than half of what it may have');
SELECT pg_temp.fill(100) \g /dev/null
SELECT is(camserver.queue_load()->'crowded', '["t_other"]', 'and one that has half');
SELECT camserver.camera_set('t_other') \g /dev/null
SELECT pg_temp.fill(200) \g /dev/null
SELECT is((SELECT f - 'retry_after' FROM camserver.frame_ingest('t', gen_random_uuid(), 't_other', clock_timestamp(), 0, 1) f),
    '{"outcome": "QUEUE_FULL", "camera_queue": 200, "camera_queue_max": 200}', 'no more than it may have');
SELECT is(camserver.frame_ingest('t', gen_random_uuid(), 't_bp', clock_timestamp(), 0, 1)->>'outcome', 'ACCEPTED', 'another has its own');
UPDATE camserver.queue_count SET crowded = '[]', counted_at = clock_timestamp();
SELECT camserver.setting_set('camera_queue_max', '100') \g /dev/null
SELECT is(camserver.frame_ingest('t', gen_random_uuid(), 't_other', clock_timestamp(), 0, 1)->>'outcome', 'QUEUE_FULL',
    'a small limit is counted for every frame');

SELECT * FROM finish();
ROLLBACK;
