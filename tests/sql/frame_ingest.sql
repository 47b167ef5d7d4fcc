-- frame_ingest: every outcome, what it leaves behind, and that it wakes only when there is new work for a sleeper.
BEGIN;
SELECT plan(51);

DELETE FROM camserver.dispatchers;
SELECT camserver.camera_set('t_cam'), camserver.camera_set('t_cam2'),
    camserver.camera_set('t_off', '{"enabled":false}') \g /dev/null
CREATE FUNCTION pg_temp.id(p_n integer) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('00000000-0000-0000-0000-' || lpad(p_n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.ingest(p_n integer, p_camera text DEFAULT 't_cam', p_ahead interval DEFAULT '0 s',
    p_priority integer DEFAULT 0) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.frame_ingest('u', pg_temp.id(p_n), p_camera, clock_timestamp() + p_ahead, p_priority, 1000) $$;
CREATE FUNCTION pg_temp.counts() RETURNS text LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM camserver.frames WHERE camera_id ~ '^t_') || '/' ||
        (SELECT count(*) FROM camserver.inference_jobs WHERE camera_id ~ '^t_') $$;

-- job_wake counts how often it is called, and still decides; that a NOTIFY comes of it is shown by the isolation test
-- job-wake, since nothing is notified before a commit.
CREATE SEQUENCE pg_temp.wakes;
CREATE FUNCTION pg_temp.wakes() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_n bigint := nextval('pg_temp.wakes') - 1;
BEGIN
    PERFORM setval('pg_temp.wakes', 1, false);
    RETURN v_n;
END $$;
CREATE OR REPLACE FUNCTION camserver.job_wake() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('pg_temp.wakes');
END $$;
GRANT ALL ON SEQUENCE pg_temp.wakes TO PUBLIC;

-- A frame is taken.
CREATE TEMP TABLE first AS SELECT clock_timestamp() AS before, camserver.frame_ingest('u', pg_temp.id(1), 't_cam',
    '2025-12-31T10:05:00.123+09:00', 7, 4321) AS a;
SELECT is(a->>'outcome', 'ACCEPTED', 'a frame is accepted') FROM first;
SELECT is(a->>'frame_uuid', pg_temp.id(1)::text, 'under its uuid') FROM first;
SELECT is(a->'duplicate', 'false', 'as a new one') FROM first;
SELECT is((SELECT array_agg(k ORDER BY k) FROM jsonb_object_keys(a) k), ARRAY['duplicate', 'frame_uuid', 'job_id',
    'outcome'], 'and nothing else is told') FROM first;
SELECT is((SELECT (camera_id, captured_at = '2025-12-31T01:05:00.123Z', image_bytes, analyzed, retention_class)::text
    FROM camserver.frames WHERE frame_uuid = pg_temp.id(1)), '(t_cam,t,4321,f,normal)', 'its row is not analysed yet');
SELECT is((SELECT (detected, primary_event, unknown_flag, severity, confidence, result_json, tags_json, event_id,
    analyzed_at)::text FROM camserver.frames WHERE frame_uuid = pg_temp.id(1)), '(,,,,,,,,)', 'and holds no result');
SELECT ok((SELECT received_at BETWEEN before AND clock_timestamp() FROM camserver.frames, first
    WHERE frame_uuid = pg_temp.id(1)), 'received now');
SELECT is((SELECT (j.kind, j.status, j.priority, j.camera_id, j.attempt, j.max_attempt)::text
    FROM camserver.inference_jobs j, first WHERE job_id = (a->>'job_id')::bigint), '(analyze,queued,7,t_cam,0,8)',
    'its job is queued with the priority that was asked for');
SELECT ok((SELECT j.frame_id = f.frame_id AND j.captured_at = f.captured_at AND j.created_at = f.received_at
    AND j.available_at = f.received_at FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id), first
    WHERE job_id = (a->>'job_id')::bigint), 'for this frame, available at once');
SELECT is((SELECT (locked_by, locked_token, locked_at, deadline_at, finished_at, last_error)::text
    FROM camserver.inference_jobs, first WHERE job_id = (a->>'job_id')::bigint), '(,,,,,)', 'and nobody''s');
SELECT is(pg_temp.wakes(), 1::bigint, 'sleepers are looked for');

-- Again.
CREATE TEMP TABLE kept AS SELECT f.ctid AS f, j.ctid AS j FROM camserver.frames f JOIN camserver.inference_jobs j
    USING (frame_id) WHERE frame_uuid = pg_temp.id(1);
CREATE TEMP TABLE again AS SELECT camserver.frame_ingest('other', pg_temp.id(1), 't_cam',
    '2025-12-31T10:05:00.123+09:00', 7, 4321) AS a;
SELECT is(again.a, first.a || '{"duplicate":true}', 'the same frame again gets the same answer, marked')
FROM again, first;
SELECT is(pg_temp.ingest(1, p_priority => 50)->>'job_id', first.a->>'job_id', 'also with other particulars') FROM first;
SELECT is(pg_temp.counts(), '1/1', 'there is still one frame and one job');
SELECT is((SELECT (f.ctid = k.f AND j.ctid = k.j) FROM kept k, camserver.frames f JOIN camserver.inference_jobs j
    USING (frame_id) WHERE frame_uuid = pg_temp.id(1)), true, 'neither was written');
SELECT is(pg_temp.wakes(), 0::bigint, 'nobody is woken for a duplicate');
UPDATE camserver.inference_jobs SET status = 'done', finished_at = now() WHERE camera_id = 't_cam';
SELECT is(pg_temp.ingest(1)->>'job_id', first.a->>'job_id', 'also when the job is done') FROM first;
SELECT is((SELECT status::text FROM camserver.inference_jobs WHERE camera_id = 't_cam'), 'done',
    'which is not done again');
DELETE FROM camserver.inference_jobs WHERE camera_id = 't_cam';
SELECT is(pg_temp.ingest(1), jsonb_build_object('outcome', 'ACCEPTED', 'frame_uuid', pg_temp.id(1), 'job_id', NULL,
    'duplicate', true), 'also when the job is forgotten');
SELECT is(pg_temp.counts(), '1/0', 'which is not made again');

-- Refusals.
SELECT is(pg_temp.ingest(2, 'none'), '{"outcome":"UNKNOWN_CAMERA"}', 'an unknown camera');
SELECT is(pg_temp.ingest(2, NULL), '{"outcome":"UNKNOWN_CAMERA"}', 'no camera');
SELECT is(pg_temp.ingest(2, 't_off'), '{"outcome":"UNKNOWN_CAMERA"}', 'a disabled one is as good as unknown');
SELECT is(pg_temp.ingest(1, 't_cam2'), '{"outcome":"FRAME_CONFLICT"}', 'the uuid of another camera''s frame');
CREATE TEMP TABLE ahead AS SELECT pg_temp.ingest(2, p_ahead => '5 min 1 s') AS a;
SELECT is(a->>'outcome', 'BAD_CAPTURED_AT', 'more than 5 min ahead of this clock') FROM ahead;
SELECT ok((a->>'server_time')::timestamptz BETWEEN now() AND clock_timestamp(), 'which is told') FROM ahead;
SELECT is(pg_temp.ingest(2, 'none', '6 min')->>'outcome', 'UNKNOWN_CAMERA', 'the camera comes first');
SELECT is(pg_temp.counts(), '1/0', 'a refusal leaves nothing behind');
SELECT is(pg_temp.wakes(), 0::bigint, 'and wakes nobody');
SELECT is(pg_temp.ingest(2, p_ahead => '4 min 59 s')->>'outcome', 'ACCEPTED', 'a little ahead is accepted');
SELECT is(pg_temp.ingest(3, p_ahead => '-100 d')->>'outcome', 'ACCEPTED', 'and any age');
SELECT is(pg_temp.counts(), '3/2', 'each with its job');
SELECT is(pg_temp.wakes(), 2::bigint, 'each for a sleeper');
SELECT throws_ok('SELECT pg_temp.ingest(4, p_priority => 101)', '23514', NULL, 'a priority out of range is an error');
SELECT throws_ok($$SELECT camserver.frame_ingest('u', pg_temp.id(4), 't_cam', now(), 0, 0)$$, '23514', NULL,
    'an empty image, too');
SELECT is(pg_temp.counts(), '3/2', 'an error leaves nothing behind');

-- The setting.
SELECT camserver.setting_set('job_max_attempt', '3') \g /dev/null
SELECT is(pg_temp.ingest(5)->>'outcome', 'ACCEPTED', 'with other attempts');
SELECT is((SELECT max_attempt::integer FROM camserver.inference_jobs JOIN camserver.frames USING (frame_id)
    WHERE frame_uuid = pg_temp.id(5)), 3, 'attempts are a setting');

-- The queue's cap: what waits or is queued counts; what runs or is over does not; other cameras do not.
DELETE FROM camserver.inference_jobs WHERE camera_id ~ '^t_';
SELECT camserver.setting_set('camera_queue_max', '3') \g /dev/null
SELECT pg_temp.ingest(i) FROM generate_series(11, 13) i \g /dev/null
SELECT is(pg_temp.ingest(14), '{"outcome":"QUEUE_FULL","retry_after":5,"camera_queue":3,"camera_queue_max":3}',
    'a camera with enough queued is refused, with the numbers');
SELECT is((SELECT count(*)::integer FROM camserver.frames WHERE frame_uuid = pg_temp.id(14)), 0, 'without a frame');
SELECT is(pg_temp.ingest(13)->>'duplicate', 'true', 'a frame that is in it is a duplicate, not refused');
SELECT is(pg_temp.ingest(13, 't_cam2')->>'outcome', 'FRAME_CONFLICT', 'a foreign frame is a conflict');
SELECT is(pg_temp.ingest(15, 't_cam2')->>'outcome', 'ACCEPTED', 'other cameras are not held up');
UPDATE camserver.inference_jobs j SET status = 'waiting' FROM camserver.frames f WHERE f.frame_id = j.frame_id
    AND frame_uuid = pg_temp.id(11);
SELECT is(pg_temp.ingest(14)->>'outcome', 'QUEUE_FULL', 'jobs that wait count');
UPDATE camserver.inference_jobs j SET status = 'running', locked_token = 1 FROM camserver.frames f
    WHERE f.frame_id = j.frame_id AND frame_uuid = pg_temp.id(12);
SELECT is(pg_temp.ingest(14)->>'outcome', 'ACCEPTED', 'one that runs leaves its place to the next');
UPDATE camserver.inference_jobs j SET status = 'done' FROM camserver.frames f
    WHERE f.frame_id = j.frame_id AND frame_uuid = pg_temp.id(14);
UPDATE camserver.inference_jobs j SET status = s::camserver.job_status, locked_token = NULL FROM camserver.frames f,
    (VALUES (11, 'done'), (12, 'dead'), (13, 'cancelled')) v (n, s)
    WHERE f.frame_id = j.frame_id AND frame_uuid = pg_temp.id(n);
SELECT is((SELECT array_agg(pg_temp.ingest(i)->>'outcome') FROM generate_series(21, 24) i),
    ARRAY['ACCEPTED', 'ACCEPTED', 'ACCEPTED', 'QUEUE_FULL'], 'those that are over do not');
UPDATE camserver.inference_jobs SET status = 'waiting', available_at = clock_timestamp() + interval '1 h'
    WHERE camera_id = 't_cam' AND status = 'queued';
SELECT is(pg_temp.ingest(25)->>'outcome', 'QUEUE_FULL', 'nor does it help to wait');

-- The cost of an ingest does not grow with what is over.
DELETE FROM camserver.inference_jobs WHERE camera_id ~ '^t_';
SELECT camserver.setting_set('camera_queue_max', '500') \g /dev/null
INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at, finished_at)
    SELECT 'done', 't_cam', now(), now(), now(), now() FROM generate_series(1, 5000);
ANALYZE camserver.inference_jobs;
SELECT pg_temp.wakes() \g /dev/null
CREATE FUNCTION pg_temp.tuples_read() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
    WHERE relid = 'camserver.inference_jobs'::regclass $$;
CREATE TEMP TABLE read_before AS SELECT pg_temp.tuples_read() AS n;
SELECT is(pg_temp.ingest(31)->>'outcome', 'ACCEPTED', 'with 5000 jobs done');
SELECT cmp_ok(pg_temp.tuples_read() - n, '<', 10::bigint, 'a new one does not read them') FROM read_before;

-- Also for somebody who may do nothing else.
SET LOCAL ROLE camserver_api;
SELECT is(camserver.frame_ingest('u', '00000000-0000-0000-0000-000000000041', 't_cam', clock_timestamp(), 0,
    10)->>'outcome', 'ACCEPTED', 'the API''s role may ingest');
SELECT throws_ok('SELECT camserver.job_wake()', '42501', NULL, 'but not wake');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
