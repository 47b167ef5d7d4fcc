-- case_attach, case_detach: what a case does to an event, its frames and their places in the archive. And what
-- event_get shows of all that follows an event.
BEGIN;
SELECT plan(46);
SELECT camserver.camera_set('t_cam') \g /dev/null
CREATE TEMP TABLE e AS SELECT gen_random_uuid() AS uuid;
INSERT INTO camserver.events (event_uuid, camera_id, start_at, last_seen_at, primary_event, severity_max, retention_class,
    retention_reason, created_at, updated_at)
SELECT uuid, 't_cam', now(), now(), 'human', 1, 'quarantine', 'severity 2', now(), now() FROM e;
CREATE FUNCTION pg_temp.id() RETURNS bigint LANGUAGE sql AS $$
    SELECT event_id FROM camserver.events JOIN e ON e.uuid = event_uuid $$;
-- Frames 1 (archived), 2 (its job waits), 3 (its job runs), 4 (neither), 5 (removed from the archive), 6 (job done).
CREATE FUNCTION pg_temp.frame(p_n integer, p_class text DEFAULT 'normal', p_reason text DEFAULT NULL) RETURNS bigint
LANGUAGE sql AS $$
    INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, retention_class,
        retention_reason, event_id)
    VALUES (('00000000-0000-0000-0000-00000000000' || p_n)::uuid, 't_cam', now() + p_n * interval '1 s', now(), 1,
        p_class::camserver.retention_class, p_reason, pg_temp.id()) RETURNING frame_id $$;
CREATE FUNCTION pg_temp.job(p_frame bigint, p_status text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO camserver.inference_jobs (kind, status, camera_id, frame_id, captured_at, created_at, available_at, locked_token)
    VALUES ('archive', p_status::camserver.job_status, 't_cam', p_frame, now(), now(), now(),
        CASE p_status WHEN 'running' THEN 1 END) $$;
CREATE FUNCTION pg_temp.object(p_frame bigint, p_removed timestamptz DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
    INSERT INTO camserver.archive_objects (frame_id, driver, path, bytes, sha256, archived_at, removed_at)
    VALUES (p_frame, 'dir', 'p', 1, repeat('0', 64), now(), p_removed) $$;
-- The frames of the jobs in this state, by number.
CREATE FUNCTION pg_temp.jobs(p_status text DEFAULT 'queued') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(right(f.frame_uuid::text, 1), ' ' ORDER BY f.frame_uuid, j.job_id)
    FROM camserver.inference_jobs j JOIN camserver.frames f USING (frame_id)
    WHERE f.event_id = pg_temp.id() AND j.kind = 'archive' AND j.status = p_status::camserver.job_status $$;
CREATE FUNCTION pg_temp.attach(p_case text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.case_attach('user:x', uuid, p_case) FROM e $$;
CREATE FUNCTION pg_temp.detach() RETURNS jsonb LANGUAGE sql AS $$ SELECT camserver.case_detach('user:x', uuid) FROM e $$;
-- class/reason of the event, and of its frames in order.
CREATE FUNCTION pg_temp.kept() RETURNS text LANGUAGE sql AS $$
    SELECT v.retention_class || '/' || coalesce(v.retention_reason, '-') || ': ' || (
        SELECT string_agg(f.retention_class || '/' || coalesce(f.retention_reason, '-'), ' ' ORDER BY f.frame_uuid)
        FROM camserver.frames f WHERE f.event_id = v.event_id)
    FROM camserver.events v WHERE v.event_id = pg_temp.id() $$;
SELECT pg_temp.object(pg_temp.frame(1)), pg_temp.job(pg_temp.frame(2, 'quarantine', 'hazard'), 'waiting'),
    pg_temp.job(pg_temp.frame(3), 'running'), pg_temp.frame(4), pg_temp.object(pg_temp.frame(5), now()),
    pg_temp.job(pg_temp.frame(6), 'done') \g /dev/null

-- What is refused.
SELECT is(camserver.case_attach('u', gen_random_uuid(), 'c'), '{"outcome": "UNKNOWN_EVENT"}', 'no such event');
SELECT is(camserver.case_detach('u', gen_random_uuid()), '{"outcome": "UNKNOWN_EVENT"}', 'none to detach from either');
SELECT is(camserver.case_attach('u', NULL, 'c')->>'outcome', 'UNKNOWN_EVENT', 'no event at all');
SELECT is(pg_temp.attach(c), '{"outcome": "BAD_CASE_ID"}', format('no case id: %L', left(c, 12)))
FROM unnest(ARRAY[NULL, '', '.', '../x', 'a/b', 'a b', '-a', E'a\n', repeat('a', 65), '事件']) c;
SELECT is((SELECT case_id FROM camserver.events WHERE event_id = pg_temp.id()), NULL, 'nothing of that was kept');
SELECT is(pg_temp.jobs(), NULL, 'nor queued');
SELECT is(pg_temp.detach()->>'outcome', 'OK', 'an event without a case may be detached');
SELECT is(pg_temp.kept(),
    'quarantine/severity 2: normal/- quarantine/hazard normal/- normal/- normal/- normal/-', 'and stays as it is');
SELECT is(pg_temp.jobs(), NULL, 'with no job');

-- Attach.
CREATE TEMP TABLE answer AS SELECT pg_temp.attach('case-1') AS j;
SELECT is(j->>'outcome', 'OK', 'attached') FROM answer;
SELECT is(j->>'case_id', 'case-1', 'the answer is the event') FROM answer;
SELECT is(j->>'retention_class', 'case', 'of class case') FROM answer;
SELECT is(j->>'event_uuid', (SELECT uuid::text FROM e), 'the one asked for') FROM answer;
SELECT is(pg_temp.kept(), 'case/case: case/case case/case case/case case/case case/case case/case', 'event and frames are kept');
SELECT is(retention_before, '{"class": "quarantine", "reason": "severity 2", "by": "user:x"}', 'what it was is remembered')
FROM camserver.events WHERE event_id = pg_temp.id();
SELECT results_eq($$SELECT retention_before->>'class', retention_before->>'reason' FROM camserver.frames
    WHERE event_id = pg_temp.id() ORDER BY frame_uuid LIMIT 2$$,
    $$VALUES ('normal', NULL), ('quarantine', 'hazard')$$, 'of each frame too');
SELECT is(pg_temp.jobs(), '1', 'what is in the archive is to move; what is just going there moves when it has arrived');
SELECT is(pg_temp.jobs('waiting'), '2', 'a job that has not begun will find the case by itself');
SELECT is((SELECT max(max_attempt)::numeric FROM camserver.inference_jobs WHERE kind = 'archive' AND status = 'queued'),
    camserver.setting_number('archive_max_attempt'), 'with the attempts of archive jobs');

-- Again; another case; a frame that joins.
SELECT is(pg_temp.attach('case-1')->>'outcome', 'OK', 'the same again');
SELECT is(pg_temp.jobs(), '1', 'queues nothing more');
SELECT is((SELECT retention_before->>'class' FROM camserver.events WHERE event_id = pg_temp.id()), 'quarantine',
    'and does not take case for what it was');
UPDATE camserver.inference_jobs SET status = 'done' WHERE kind = 'archive' AND status = 'queued';
SELECT pg_temp.attach('case-1') \g /dev/null
SELECT is(pg_temp.jobs(), NULL, 'nor after the images have moved');
SELECT pg_temp.object(pg_temp.frame(7, 'quarantine', 'late')) \g /dev/null
SELECT pg_temp.attach('case-1') \g /dev/null
SELECT is(pg_temp.jobs(), '7', 'but a frame that has joined since moves too');
UPDATE camserver.inference_jobs SET status = 'done' WHERE kind = 'archive' AND status = 'queued';
SELECT is(camserver.case_attach('user:y', uuid, 'case-2')->>'case_id', 'case-2', 'another case takes it over') FROM e;
SELECT is(pg_temp.jobs(), '1 7', 'with all its images');
SELECT is(retention_before, '{"class": "quarantine", "reason": "severity 2", "by": "user:y"}', 'from whom is seen')
FROM camserver.events WHERE event_id = pg_temp.id();
UPDATE camserver.inference_jobs SET status = 'done', locked_token = NULL WHERE kind = 'archive' AND status <> 'waiting';

-- Detach.
SELECT is(pg_temp.detach()->'case_id', 'null', 'detached');
SELECT is(pg_temp.kept(), 'quarantine/severity 2: normal/- quarantine/hazard normal/- normal/- normal/- normal/- quarantine/late',
    'all is as it was');
SELECT is((SELECT count(*) FROM camserver.frames WHERE event_id = pg_temp.id() AND retention_before IS NOT NULL), 0::bigint,
    'nothing is remembered any more');
SELECT is(pg_temp.jobs(), '1 7', 'the images move back');
UPDATE camserver.events SET retention_class = 'normal', retention_reason = 'severity 1' WHERE event_id = pg_temp.id();
SELECT pg_temp.attach('case-1'), pg_temp.detach() \g /dev/null
SELECT is((SELECT retention_class::text FROM camserver.events WHERE event_id = pg_temp.id()), 'quarantine',
    'an event is as strong as its strongest frame');

-- What the event shows.
SELECT is(camserver.event_get(uuid)->'review', 'null', 'no review yet') FROM e;
SELECT is(camserver.event_get(uuid)->'notifications', '[]', 'and no notification') FROM e;
SELECT is(jsonb_path_query_array(camserver.event_get(uuid), '$.frames[*].archived'),
    '[true, false, false, false, false, false, true]', 'which frames are in the archive') FROM e;
INSERT INTO camserver.channels (name, kind, url) VALUES ('t_hook', 'webhook', 'http://127.0.0.1/');
INSERT INTO camserver.notifications (channel_id, state, event_id, severity, reason, count, created_at, updated_at, sent_at)
SELECT channel_id, s, pg_temp.id(), 2, r, n, '2026-01-01 00:00Z', now(), t::timestamptz
FROM camserver.channels, (VALUES ('sent', NULL, 3, '2026-01-01 00:00:01Z'), ('suppressed', 'cooldown', 1, NULL)) v (s, r, n, t)
WHERE name = 't_hook' ORDER BY n DESC;
INSERT INTO camserver.llm_reviews (event_id, frame_id, camera_id, outcome, reason, model, summary, created_at)
VALUES (pg_temp.id(), 1, 't_cam', 'ok', NULL, 'm', 'a cat', now());
SELECT is(camserver.event_get(uuid)->'notifications',
    '[{"channel": "t_hook", "state": "sent", "reason": null, "count": 3, "severity": 2,
       "created_at": "2026-01-01T00:00:00.000Z", "sent_at": "2026-01-01T00:00:01.000Z"},
      {"channel": "t_hook", "state": "suppressed", "reason": "cooldown", "count": 1, "severity": 2,
       "created_at": "2026-01-01T00:00:00.000Z", "sent_at": null}]', 'whom it was told') FROM e;
SELECT is(camserver.event_get(uuid)->'review', '{"outcome": "ok", "reason": null, "summary": "a cat", "model": "m"}',
    'what the model made of it') FROM e;
SELECT * FROM finish();
ROLLBACK;
