-- Follow-ups: the archive's places and jobs, questions to the model, what is fenced, and what expires when.
BEGIN;
SELECT plan(60);
SELECT camserver.setting_set('expire_budget_ms', '1000') \g /dev/null
SELECT camserver.camera_set('t_a'), camserver.camera_set('t_b'),
    camserver.dispatcher_register('00000000-0000-0000-0000-0000000000d1', 'tap', 1, 'tap') \g /dev/null
DELETE FROM camserver.llm_reviews;

CREATE FUNCTION pg_temp.u(n integer) RETURNS uuid LANGUAGE sql AS $$ SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
-- A frame of a class, received so many days ago, in an event; its image gone or not.
CREATE FUNCTION pg_temp.frame(n integer, p_class text DEFAULT 'normal', p_days integer DEFAULT 0, p_gone boolean DEFAULT false,
    p_camera text DEFAULT 't_a', p_event bigint DEFAULT NULL) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyzed, analyzed_at, detected,
        retention_class, image_removed_at, event_id)
    VALUES (pg_temp.u(n), p_camera, '2026-03-04 23:59:58.123+00', now() - make_interval(days => p_days), 9, true, now(), true,
        p_class::camserver.retention_class, CASE WHEN p_gone THEN now() END, p_event) RETURNING frame_id $$;
CREATE FUNCTION pg_temp.event(p_camera text DEFAULT 't_a', p_class text DEFAULT 'normal', p_days integer DEFAULT 0, p_open boolean DEFAULT false)
RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event, severity_max,
        retention_class, created_at, updated_at)
    SELECT p_camera, t, t, CASE WHEN NOT p_open THEN t END, CASE WHEN p_open THEN 'open' ELSE 'closed' END::camserver.event_state,
        CASE WHEN NOT p_open THEN 'stale' END, 'unknown', 1, p_class::camserver.retention_class, t, t
    FROM (SELECT now() - make_interval(days => p_days) AS t) x RETURNING event_id $$;
CREATE FUNCTION pg_temp.place(n integer, p_case text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT camserver.archive_path(f, p_case) FROM camserver.frames f WHERE frame_uuid = pg_temp.u(n) $$;
CREATE FUNCTION pg_temp.jobs(p_kind text, p_status text DEFAULT NULL) RETURNS integer LANGUAGE sql AS $$
    SELECT count(*)::integer FROM camserver.inference_jobs WHERE kind::text = p_kind AND camera_id IN ('t_a', 't_b')
        AND (p_status IS NULL OR status::text = p_status) $$;
-- Claims everything and keeps the tokens.
CREATE TEMP TABLE held (job_id bigint, token bigint, kind text, facts jsonb);
CREATE FUNCTION pg_temp.claim() RETURNS integer LANGUAGE sql AS $$
    WITH c AS (INSERT INTO held SELECT job_id, token, kind::text, facts
        FROM camserver.followup_claim('00000000-0000-0000-0000-0000000000d1', 100, 0, 100) RETURNING 1)
    SELECT count(*)::integer FROM c $$;
CREATE FUNCTION pg_temp.complete(p_kind text, p_more jsonb, p_token bigint DEFAULT NULL) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.followup_complete('00000000-0000-0000-0000-0000000000d1', jsonb_agg(p_more ||
        jsonb_build_object('job_id', job_id, 'token', coalesce(p_token, token)))) FROM held WHERE kind = p_kind $$;

-- The archive's places.
SELECT pg_temp.frame(1), pg_temp.frame(2, 'quarantine'), pg_temp.frame(3, 'case') \g /dev/null
SET LOCAL TIME ZONE 'Asia/Tokyo';
SELECT is(pg_temp.place(1), 'camera-archive/2026/03/04/t_a/20260304T235958.123Z_00000000-0000-0000-0000-000000000001.jpg',
    'normal: by day, in UTC whatever the session''s zone');
SELECT is(pg_temp.place(2), 'camera-quarantine/2026/03/t_a/20260304T235958.123Z_00000000-0000-0000-0000-000000000002.jpg',
    'quarantine: by month');
SELECT is(pg_temp.place(3, 'c-1'), 'case/c-1/t_a/20260304T235958.123Z_00000000-0000-0000-0000-000000000003.jpg', 'a case: by its id');
SELECT camserver.archive_queue(frame_id), camserver.archive_queue(frame_id) FROM camserver.frames WHERE frame_uuid = pg_temp.u(1) \g /dev/null
SELECT is(pg_temp.jobs('archive'), 1, 'a job that has not begun is enough');
SELECT is(pg_temp.claim(), 1, 'it is claimed');
SELECT is((SELECT facts->>'target' FROM held), pg_temp.place(1), 'with its place');
SELECT is((SELECT facts->>'stored' FROM held), NULL, 'and nothing there yet');
SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE frame_uuid = pg_temp.u(1) \g /dev/null
SELECT is(pg_temp.jobs('archive'), 1, 'and so is one that runs: two would make two copies');
\set stored '{"driver": "dir", "path": "camera-archive/2026/03/04/t_a/20260304T235958.123Z_00000000-0000-0000-0000-000000000001.jpg", "bytes": 9, "sha256": "0000000000000000000000000000000000000000000000000000000000000000"}'
SELECT is(pg_temp.complete('archive', :'stored', 0), '{"done": 0, "fenced": 1, "queued": false}', 'another''s token is refused');
SELECT is((SELECT count(*)::integer FROM camserver.archive_objects JOIN camserver.frames USING (frame_id) WHERE camera_id = 't_a'), 0, 'and changes nothing');
SELECT throws_ok($$SELECT pg_temp.complete('archive', '{"driver": "tape", "path": "x", "bytes": 1, "sha256": "zz"}')$$, '23514', NULL,
    'nonsense fails the call');
SELECT is(pg_temp.jobs('archive', 'running'), 1, 'and the job runs on');
SELECT is(pg_temp.complete('archive', :'stored'), '{"archive": 1, "done": 1, "fenced": 0, "queued": false}', 'it is stored');
SELECT is(pg_temp.complete('archive', :'stored'), '{"done": 0, "fenced": 1, "queued": false}', 'once');
SELECT is(pg_temp.jobs('archive', 'queued'), 0, 'where it belongs: nothing more to do');
SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE frame_uuid = pg_temp.u(1) \g /dev/null
DELETE FROM held;
SELECT is(pg_temp.claim(), 1, 'asked for again, it is looked at again');
UPDATE camserver.frames SET retention_class = 'quarantine' WHERE frame_uuid = pg_temp.u(1);
SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE frame_uuid = pg_temp.u(1) \g /dev/null
SELECT is(pg_temp.jobs('archive', 'queued'), 0, 'where it belongs changes meanwhile: the one that runs comes first');
SELECT is(pg_temp.complete('archive', :'stored')->>'done', '1', 'it is stored at the old place');
SELECT is(pg_temp.jobs('archive', 'queued'), 1, 'elsewhere than it belongs by now: queued again');
DELETE FROM held;
SELECT pg_temp.claim() \g /dev/null
SELECT is((SELECT (split_part(facts->>'stored', '/', 1), split_part(facts->>'target', '/', 1))::text FROM held),
    '(camera-archive,camera-quarantine)', 'to be moved from the one to the other');
SELECT camserver.job_fail('00000000-0000-0000-0000-0000000000d1', jsonb_agg(to_jsonb(held) || '{"error": "e", "delay_ms": 0}')) FROM held \g /dev/null

-- Questions to the model.
CREATE TEMP TABLE asked AS SELECT pg_temp.event('t_b', 'normal', 0, true) AS event_id;
SELECT pg_temp.frame(10, p_camera => 't_b', p_event => event_id) FROM asked \g /dev/null
CREATE FUNCTION pg_temp.ask(p_camera text DEFAULT 't_b') RETURNS integer LANGUAGE sql AS $$
    SELECT camserver.escalate_decide(p_camera, e.event_id, f.frame_id) FROM camserver.events e JOIN camserver.frames f USING (event_id)
    WHERE e.camera_id = p_camera ORDER BY e.event_id DESC, f.frame_id LIMIT 1 $$;
CREATE FUNCTION pg_temp.review() RETURNS text LANGUAGE sql AS $$
    SELECT outcome || coalesce(' ' || reason, '') FROM camserver.llm_reviews WHERE camera_id = 't_b' ORDER BY review_id DESC LIMIT 1 $$;
SELECT is(pg_temp.ask(), 1, 'an unknown event is put to the model');
SELECT is(pg_temp.review(), 'pending', 'and waits for the answer');
SELECT is(pg_temp.ask(), 0, 'once');
DELETE FROM held;
SELECT is(pg_temp.claim(), 2, 'claimed, beside what the archive has to do');
SELECT is(pg_temp.complete('escalate', '{"outcome": "nonsense", "reason": "r", "summary": "never"}')->>'done', '1', 'nonsense is an answer');
SELECT is(pg_temp.review(), 'nonsense r', 'kept as that');
SELECT is((SELECT summary FROM camserver.events JOIN asked USING (event_id)), NULL, 'the event shows nothing of it');
UPDATE camserver.events SET state = 'closed', end_at = last_seen_at, close_reason = 'gap' WHERE camera_id = 't_b';
TRUNCATE asked;
INSERT INTO asked SELECT pg_temp.event('t_b', 'normal', 0, true);
SELECT pg_temp.frame(11, p_camera => 't_b', p_event => event_id) FROM asked \g /dev/null
SELECT is(pg_temp.ask(), 0, 'another event of the camera comes too soon');
SELECT is(pg_temp.review(), 'skipped cooldown_camera', 'which is noted');
UPDATE camserver.llm_reviews SET asked_at = asked_at - interval '601 s' WHERE camera_id = 't_b' AND asked_at IS NOT NULL;
SELECT camserver.setting_set('escalate_daily_cap', '1') \g /dev/null
UPDATE camserver.llm_reviews SET asked_at = greatest(asked_at, date_trunc('day', now())) WHERE asked_at IS NOT NULL;
SELECT camserver.setting_set('escalate_camera_sec', '0') \g /dev/null
SELECT is(pg_temp.ask(), 0, 'the day''s questions are used up');
SELECT is(pg_temp.review(), 'skipped daily_cap', 'which is noted too');
SELECT camserver.setting_set('escalate_daily_cap', '2') \g /dev/null
SELECT is(pg_temp.ask(), 1, 'a later frame asks');
DELETE FROM held;
SELECT pg_temp.claim() \g /dev/null
SELECT is(pg_temp.complete('escalate', '{"outcome": "ok", "summary": "a box", "answer": {"severity": 1}}')->>'done', '1', 'a good answer');
SELECT is((SELECT summary FROM camserver.events JOIN asked USING (event_id)), 'a box', 'shows in the event');

-- Whoever ends a job, the review says so.
SELECT camserver.setting_set('escalate_daily_cap', '100') \g /dev/null
UPDATE camserver.events SET state = 'closed', end_at = last_seen_at, close_reason = 'gap' WHERE camera_id = 't_b' AND state = 'open';
TRUNCATE asked;
INSERT INTO asked SELECT pg_temp.event('t_b', 'normal', 0, true);
SELECT pg_temp.frame(12, p_camera => 't_b', p_event => event_id) FROM asked \g /dev/null
SELECT is(pg_temp.ask(), 1, 'one more');
SELECT camserver.job_cancel(job_id) FROM camserver.inference_jobs JOIN asked ON ref_id = event_id WHERE kind = 'escalate' \g /dev/null
SELECT is(pg_temp.review(), 'error cancelled by an operator', 'cancelled');
SELECT camserver.job_retry(job_id) FROM camserver.inference_jobs JOIN asked ON ref_id = event_id WHERE kind = 'escalate' \g /dev/null
SELECT is(pg_temp.review(), 'pending retried', 'and given another chance');

-- What expires when.
DELETE FROM camserver.archive_objects;
DELETE FROM camserver.frames WHERE camera_id IN ('t_a', 't_b');
SELECT pg_temp.frame(21, 'normal', 13, true), pg_temp.frame(22, 'normal', 15, true), pg_temp.frame(23, 'normal', 15, false),
    pg_temp.frame(24, 'quarantine', 59, true), pg_temp.frame(25, 'quarantine', 61, true), pg_temp.frame(26, 'case', 9999, true),
    pg_temp.frame(27, 'normal', 15, true) \g /dev/null
INSERT INTO camserver.archive_objects (frame_id, driver, path, bytes, sha256, archived_at)
SELECT frame_id, 'dir', 'p/' || right(frame_uuid::text, 2), 1, repeat('0', 64), now() FROM camserver.frames
WHERE frame_uuid IN (pg_temp.u(21), pg_temp.u(25), pg_temp.u(26), pg_temp.u(27));
CREATE FUNCTION pg_temp.left_over() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(right(frame_uuid::text, 2), ' ' ORDER BY frame_uuid) FROM camserver.frames WHERE camera_id IN ('t_a', 't_b') $$;
CREATE FUNCTION pg_temp.expire(p_n integer, p_driver text DEFAULT 'dir', p_now timestamptz DEFAULT now()) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(path, ' ' ORDER BY path) FROM camserver.archive_expire(p_driver, p_n, p_now) $$;
CREATE FUNCTION pg_temp.in_archive() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(path, ' ' ORDER BY path) FROM camserver.archive_objects WHERE removed_at IS NULL $$;
SELECT is(pg_temp.expire(10, 'rclone'), NULL, 'another archive''s are not its business');
SELECT is(length(pg_temp.expire(1)), 4, 'no more than asked for');
SELECT is(length(pg_temp.expire(1)), 4, 'and until that is said to be deleted, nothing else');
SELECT is(length(pg_temp.in_archive()), 14, 'one is out of the archive');
SELECT is(pg_temp.expire(10), 'p/25 p/27', 'out of the archive: 15 days of normal, 61 of quarantine, never a case');
SELECT is(pg_temp.in_archive(), 'p/21 p/26', 'with the asking');
SELECT is(pg_temp.expire(10), 'p/25 p/27', 'given again: whoever asked may have died');
SELECT is((SELECT array_agg(right(u::text, 2)) FROM camserver.spool_expire(10) u), ARRAY['23'], 'out of the spool: what is still there');
SELECT camserver.rows_expire() \g /dev/null
SELECT is(pg_temp.left_over(), '21 24 25 26 27', 'rows go after their images: only the one without any file');
SELECT is(camserver.archive_removed(ARRAY(SELECT frame_id FROM camserver.frames WHERE frame_uuid = pg_temp.u(26))), 0,
    'what was not to be deleted is not');
SELECT is(camserver.archive_removed(ARRAY(SELECT frame_id FROM camserver.archive_expire('dir', 10))), 2, 'the archive''s files are gone');
SELECT is(pg_temp.expire(10), NULL, 'and not asked for again');
SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE frame_uuid = pg_temp.u(21) \g /dev/null
SELECT is(pg_temp.expire(10, p_now => now() + interval '2 days'), NULL, 'what is to be moved first is moved');
UPDATE camserver.inference_jobs SET status = 'done' WHERE kind = 'archive' AND status = 'queued';
SELECT is(pg_temp.expire(10, p_now => now() + interval '2 days'), 'p/21', 'two days later one more');
UPDATE camserver.archive_objects SET removed_at = NULL, lingers = false WHERE path = 'p/21';
SELECT camserver.rows_expire() \g /dev/null
SELECT is(pg_temp.left_over(), '21 24 26', 'now their rows too');
SELECT is((SELECT count(*)::integer FROM camserver.spool_unknown(ARRAY[pg_temp.u(21), pg_temp.u(98), pg_temp.u(99)])), 3,
    'files that no frame names, and of frames that have lost their image');
UPDATE camserver.frames SET image_removed_at = NULL WHERE frame_uuid = pg_temp.u(21);
SELECT is((SELECT count(*)::integer FROM camserver.spool_unknown(ARRAY[pg_temp.u(21), pg_temp.u(98), pg_temp.u(99)])), 2, 'not those of the others');

-- Events go when they have no frame left.
DELETE FROM camserver.events WHERE camera_id IN ('t_a', 't_b');
CREATE TEMP TABLE aged AS SELECT pg_temp.event('t_a', 'normal', 15) AS empty, pg_temp.event('t_a', 'normal', 15) AS used,
    pg_temp.event('t_a', 'quarantine', 59) AS young, pg_temp.event('t_b', 'normal', 15, true) AS open;
UPDATE camserver.frames SET event_id = (SELECT used FROM aged) WHERE frame_uuid = pg_temp.u(21);
SELECT is((camserver.rows_expire()->>'count')::integer, 1, 'one event is over');
SELECT ok(NOT EXISTS (SELECT 1 FROM camserver.events JOIN aged ON event_id = empty), 'the one without frames');
SELECT is((SELECT count(*)::integer FROM camserver.events WHERE camera_id IN ('t_a', 't_b')), 3, 'one with a frame, a young and an open one stay');
SELECT is(camserver.rows_expire(), '{"more": false, "count": 0}', 'nothing more to do');

-- A frame that somebody is at work on stays: what it makes would belong to nobody.
SELECT pg_temp.frame(31, 'normal', 15, true), pg_temp.frame(32, 'normal', 15, true) \g /dev/null
SELECT camserver.archive_queue(frame_id) FROM camserver.frames WHERE frame_uuid = pg_temp.u(31) \g /dev/null
SELECT pg_temp.claim() \g /dev/null
SELECT camserver.rows_expire() \g /dev/null
SELECT ok(EXISTS (SELECT 1 FROM camserver.frames WHERE frame_uuid = pg_temp.u(31)), 'its image may be on its way into the archive');
SELECT ok(NOT EXISTS (SELECT 1 FROM camserver.frames WHERE frame_uuid = pg_temp.u(32)), 'another does not');

SELECT * FROM finish();
ROLLBACK;
