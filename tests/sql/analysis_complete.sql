-- analysis_complete: an answer of a node takes effect as a whole - frame, tags, event, suggestion, job - or not at all.
BEGIN;
SELECT plan(72);

DELETE FROM camserver.inference_jobs;
DELETE FROM camserver.events;
DELETE FROM camserver.dispatchers;
UPDATE camserver.suggest_state SET camera_id = NULL, score = 0, expires_at = '-infinity';
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
SELECT camserver.dispatcher_register(:d1, 'h', 1, 'v'), camserver.camera_set('t_cam'), camserver.camera_set('t_cam2')
    \g /dev/null
CREATE FUNCTION pg_temp.id(p_n integer) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('00000000-0000-0000-0000-' || lpad(p_n::text, 12, '0'))::uuid $$;
CREATE TEMP TABLE held (n integer PRIMARY KEY, job_id bigint, token bigint, frame_id bigint);
-- Frame n of a camera, captured so many seconds after a moment an hour ago, comes in and is claimed.
CREATE FUNCTION pg_temp.claim(p_n integer, p_sec numeric DEFAULT 0, p_camera text DEFAULT 't_cam') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM camserver.frame_ingest('u', pg_temp.id(p_n), p_camera, now() - interval '1 h' + p_sec * interval '1 s', 0,
    100);
    INSERT INTO held SELECT p_n, job_id, token FROM camserver.job_claim('analyze',
        '00000000-0000-0000-0000-0000000000d1', 1);
    UPDATE held SET frame_id = j.frame_id FROM camserver.inference_jobs j WHERE j.job_id = held.job_id AND n = p_n;
END $$;
CREATE FUNCTION pg_temp.element(p_n integer, p_more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('job_id', job_id, 'token', token, 'schema_version', '2025-12-28.1', 'result',
    '{"ok":1}'::jsonb,
        'detected', true, 'primary_event', 'human', 'unknown_flag', false, 'severity', 1, 'confidence', 0.5,
        'count_hint', 2, 'blur_score', 10, 'tags', '["human.presence"]'::jsonb, 'retention_class', 'normal',
        'retention_reason', 'detected', 'best_score', 1049, 'suggest_score', 10, 'hazard', false) || p_more
    FROM held WHERE n = p_n $$;
CREATE FUNCTION pg_temp.complete(VARIADIC p_elements jsonb[]) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.analysis_complete('00000000-0000-0000-0000-0000000000d1', to_jsonb(p_elements)) $$;
CREATE FUNCTION pg_temp.tags(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(tag_id || '=' || tag_group, ' ' ORDER BY tag_id) FROM camserver.frame_tags JOIN held USING
    (frame_id)
    WHERE n = p_n $$;
CREATE FUNCTION pg_temp.job(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT (status, attempt, last_error, locked_by, locked_at, locked_token, deadline_at)::text FROM
    camserver.inference_jobs
    JOIN held USING (job_id) WHERE n = p_n $$;
CREATE FUNCTION pg_temp.frame(p_n integer) RETURNS camserver.frames LANGUAGE sql AS $$
    SELECT f FROM camserver.frames f JOIN held USING (frame_id) WHERE n = p_n $$;
CREATE FUNCTION pg_temp.event_of(p_n integer) RETURNS camserver.events LANGUAGE sql AS $$
    SELECT e FROM camserver.events e WHERE event_id = (pg_temp.frame(p_n)).event_id $$;
CREATE FUNCTION pg_temp.event_tags(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(tag_id || '=' || tag_group, ' ' ORDER BY tag_id) FROM camserver.event_tags
    WHERE event_id = (pg_temp.frame(p_n)).event_id $$;
-- Everything that a completion may change, to see that it did not.
CREATE FUNCTION pg_temp.everything() RETURNS text LANGUAGE sql AS $$
    SELECT md5(concat((SELECT string_agg(t::text, ' ' ORDER BY t.frame_id) FROM camserver.frames t),
        (SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM camserver.frame_tags t),
        (SELECT string_agg(t::text, ' ' ORDER BY t.event_id) FROM camserver.events t),
        (SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM camserver.event_tags t),
        (SELECT string_agg(t::text, ' ' ORDER BY t.job_id) FROM camserver.inference_jobs t),
        (SELECT string_agg(t::text, ' ') FROM camserver.suggest_state t))) $$;

-- A detection: the frame.
SELECT pg_temp.claim(1) \g /dev/null
UPDATE camserver.inference_jobs SET last_error = 'an earlier attempt';
SELECT is(pg_temp.complete(pg_temp.element(1,
    '{"tags":["human.presence","human.multiple"],"result":{"a":[1,{"b":"鹿"}]}}')),
    '{"done":1,"fenced":0}', 'an answer is taken');
SELECT is((SELECT (analyzed, detected, primary_event, unknown_flag, severity, confidence, count_hint, blur_score)::text
    FROM pg_temp.frame(1)), '(t,t,human,f,1,0.5,2,10)', 'the frame has what was found');
SELECT is((SELECT (retention_class, retention_reason)::text FROM pg_temp.frame(1)), '(normal,detected)',
    'the policy''s decision');
SELECT is((pg_temp.frame(1)).result_json, '{"a":[1,{"b":"鹿"}]}', 'the node''s whole answer');
SELECT is((pg_temp.frame(1)).tags_json, '["human.presence","human.multiple"]', 'its tags as they came');
SELECT ok((pg_temp.frame(1)).analyzed_at BETWEEN now() AND clock_timestamp(), 'and the time');
SELECT is(pg_temp.tags(1), 'human.multiple=human human.presence=human', 'and one by one with their groups');
-- The event.
SELECT is((SELECT (camera_id, state, primary_event, severity_max, confidence_max, frame_count, retention_class,
    retention_reason, best_score)::text FROM pg_temp.event_of(1)), '(t_cam,open,human,1,0.5,1,normal,detected,1049)',
    'an event is opened');
SELECT ok((SELECT start_at = now() - interval '1 h' AND last_seen_at = start_at AND end_at IS NULL FROM
    pg_temp.event_of(1)),
    'at the time of the frame');
SELECT is((pg_temp.event_of(1)).best_frame_id, (SELECT frame_id FROM held WHERE n = 1), 'whose best frame this is');
SELECT is(pg_temp.event_tags(1), 'human.multiple=human human.presence=human', 'with its tags');
-- The job.
SELECT is(pg_temp.job(1), '(done,1,,,,,)', 'the job is done and nobody''s, without an error');
SELECT ok((SELECT finished_at BETWEEN now() AND clock_timestamp() FROM camserver.inference_jobs), 'just now');

-- The same again.
CREATE TEMP TABLE state AS SELECT pg_temp.everything() AS before;
SELECT is(pg_temp.complete(pg_temp.element(1, '{"severity":3,"suggest_score":300}')), '{"done":0,"fenced":1}',
    'the same answer again is refused');
SELECT is(pg_temp.everything(), before, 'and changes nothing at all') FROM state;

-- Nothing detected.
SELECT pg_temp.claim(2, 10) \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(2, '{"detected":false,"primary_event":"none","severity":0,"tags":[],
    "suggest_score":500,"retention_reason":"nothing detected"}') - 'confidence' - 'count_hint' - 'blur_score'),
    '{"done":1,"fenced":0}', 'an answer that nothing is there');
SELECT is((SELECT (analyzed, detected, primary_event, severity, confidence, count_hint, blur_score, event_id,
    tags_json)::text
    FROM pg_temp.frame(2)), '(t,f,none,0,,,,,[])', 'is kept, and in no event');
SELECT is((SELECT (count(*), sum(frame_count))::text FROM camserver.events), '(1,1)', 'it makes none and extends none');
SELECT is((SELECT camera_id FROM camserver.suggest_state), NULL, 'and is not suggested');
SELECT is(pg_temp.job(2), '(done,1,,,,,)', 'the job is done');

-- Merge, tags of the schema or else by their prefix, retention, best frame.
SELECT camserver.setting_set('suggest_start_score', '50') \g /dev/null
INSERT INTO camserver.schema_versions (schema_version, schema) VALUES ('t.1', '{"tags":[]}');
INSERT INTO camserver.schema_tags (schema_version, tag_id, tag_group) VALUES ('t.1', 'human.presence', 'people');
SELECT pg_temp.claim(3, 60) \g /dev/null
INSERT INTO camserver.frame_tags SELECT frame_id, t, 'old' FROM held, unnest(ARRAY['human.presence',
    'old.tag']) t WHERE n = 3;
SELECT is(pg_temp.complete(pg_temp.element(3, '{"schema_version":"t.1","severity":2,"confidence":0.25,"best_score":2025,
    "tags":["human.presence","behavior.loitering","odd","human.presence"],"retention_class":"quarantine",
    "retention_reason":"loitering"}')), '{"done":1,"fenced":0}', 'a second detection');
SELECT is(pg_temp.tags(3), 'behavior.loitering=behavior human.presence=people odd=odd',
    'tags replace what was there; their group is the schema''s, else the prefix; none is twice');
SELECT is((pg_temp.frame(3)).event_id, (pg_temp.frame(1)).event_id, 'it belongs to the same event');
SELECT is((SELECT (severity_max, confidence_max, frame_count, retention_class, retention_reason, best_score)::text
    FROM pg_temp.event_of(1)), '(2,0.5,2,quarantine,loitering,2025)', 'which is as strong as the strongest of both');
SELECT is((pg_temp.event_of(1)).best_frame_id, (SELECT frame_id FROM held WHERE n = 3),
    'whose best frame is the better one');
SELECT ok((SELECT start_at = now() - interval '1 h' AND last_seen_at = start_at + interval '60 s' FROM
    pg_temp.event_of(1)),
    'from the first to the second');
SELECT is(pg_temp.event_tags(1), 'behavior.loitering=behavior human.multiple=human human.presence=human odd=odd',
    'with the tags of both, each as it came first');
SELECT is((SELECT (retention_class, retention_reason)::text FROM pg_temp.frame(1)), '(normal,detected)',
    'the first frame stays as it is');
SELECT pg_temp.claim(4, 70) \g /dev/null
SELECT pg_temp.complete(pg_temp.element(4)) \g /dev/null
SELECT is((SELECT (severity_max, frame_count, retention_class, retention_reason, best_score,
    best_frame_id = (SELECT frame_id
    FROM held WHERE n = 3))::text FROM pg_temp.event_of(1)), '(2,3,quarantine,loitering,2025,t)',
    'a weaker one weakens nothing');

-- Close: another kind, a gap.
SELECT pg_temp.claim(5, 80), pg_temp.claim(6, 400) \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(5, '{"primary_event":"animal","tags":["animal.deer"]}'),
    pg_temp.element(6, '{"primary_event":"animal","tags":["animal.boar"]}')), '{"done":2,"fenced":0}',
    'another kind, and a gap');
SELECT is((SELECT string_agg(format('%s %s %s %s', primary_event, state, close_reason, frame_count),
    ', ' ORDER BY event_id)
    FROM camserver.events), 'human closed changed 3, animal closed gap 1, animal open  1', 'close what was open');
SELECT is((SELECT array_agg(pg_temp.event_tags(n)) FROM unnest(ARRAY[1, 5, 6]) n), ARRAY[
    'behavior.loitering=behavior human.multiple=human human.presence=human odd=odd', 'animal.deer=animal',
    'animal.boar=animal'], 'each has the tags of its own frames');

-- A batch is taken in the order of capture, whatever the order of its elements.
DELETE FROM camserver.events;
SELECT pg_temp.claim(11, 1000), pg_temp.claim(12, 1010), pg_temp.claim(13, 1020), pg_temp.claim(14, 1005,
    't_cam2') \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(13), pg_temp.element(14), pg_temp.element(12, '{"primary_event":"animal"}'),
    pg_temp.element(11)), '{"done":4,"fenced":0}', 'a batch of two cameras');
SELECT is((SELECT string_agg(format('%s %s %s', camera_id, primary_event, coalesce(close_reason, 'open')), ', '
    ORDER BY camera_id, start_at) FROM camserver.events),
    't_cam human changed, t_cam animal changed, t_cam human open, t_cam2 human open',
    'becomes events in the order of time');
SELECT is((SELECT count(*)::integer FROM camserver.inference_jobs WHERE status = 'running'), 0, 'all are done');
SELECT is(camserver.analysis_complete(:d1, '[]'), '{"done":0,"fenced":0}', 'an empty batch');

-- Fenced: nothing changes at all.
SELECT pg_temp.claim(21, 2000), pg_temp.claim(22, 2010) \g /dev/null
INSERT INTO camserver.frame_tags SELECT frame_id, 'kept', 'kept' FROM held WHERE n = 21;
TRUNCATE state;
INSERT INTO state SELECT pg_temp.everything();
SELECT is(pg_temp.complete(pg_temp.element(21, '{"token":1,"suggest_score":300}')), '{"done":0,"fenced":1}',
    'a wrong token');
SELECT is(pg_temp.complete(pg_temp.element(21) || (SELECT jsonb_build_object('token', token, 'suggest_score',
    300) FROM held
    WHERE n = 22)), '{"done":0,"fenced":1}', 'another job''s token');
SELECT is(pg_temp.complete(pg_temp.element(21, '{"suggest_score":300}') - 'token'), '{"done":0,"fenced":1}',
    'no token');
SELECT is(pg_temp.complete(pg_temp.element(21, '{"job_id":9223372036854775807,"suggest_score":300}')),
    '{"done":0,"fenced":1}', 'a job that does not exist');
SELECT is(pg_temp.complete(pg_temp.element(21) - 'job_id'), '{"done":0,"fenced":1}', 'no job');
SELECT is(pg_temp.everything(), before, 'change nothing at all') FROM state;
SELECT is(pg_temp.complete(pg_temp.element(21, '{"token":1,"suggest_score":300,"primary_event":"hazard"}'),
    pg_temp.element(22, '{"suggest_score":0}')), '{"done":1,"fenced":1}',
    'one that is refused does not sink the other');
SELECT is((SELECT (f21.analyzed, f22.analyzed)::text FROM pg_temp.frame(21) f21, pg_temp.frame(22) f22), '(f,t)',
    'nor is it taken along');
SELECT is(pg_temp.tags(21), 'kept=kept', 'its tags stay');
SELECT is((SELECT status::text FROM camserver.inference_jobs JOIN held USING (job_id) WHERE n = 21), 'running',
    'its job runs on');
SELECT is((SELECT camera_id FROM camserver.suggest_state), NULL, 'it is not suggested');

-- A job that was given to somebody else, cancelled, or is of another kind.
UPDATE camserver.inference_jobs SET deadline_at = clock_timestamp() - interval '1 s' WHERE status = 'running';
SELECT camserver.job_rescue() \g /dev/null
TRUNCATE state;
INSERT INTO state SELECT pg_temp.everything();
SELECT is(pg_temp.complete(pg_temp.element(21)), '{"done":0,"fenced":1}', 'after a rescue');
SELECT is(pg_temp.everything(), before, 'the answer changes nothing') FROM state;
CREATE TEMP TABLE old AS SELECT pg_temp.element(21, '{"suggest_score":300,"hazard":true,"primary_event":"hazard"}') AS
    element;
UPDATE held SET token = c.token FROM camserver.job_claim('analyze', :d1, 1) c WHERE held.job_id = c.job_id;
SELECT is(pg_temp.complete(element), '{"done":0,"fenced":1}', 'nor after it was claimed again') FROM old;
-- The rescued attempt and the new one answer in the same batch.
SELECT is(pg_temp.complete(element, pg_temp.element(21, '{"suggest_score":0}')), '{"done":1,"fenced":1}',
    'of two answers for a job one is taken') FROM old;
SELECT is((pg_temp.frame(21)).primary_event, 'human', 'the one with the current token');
SELECT is((SELECT camera_id FROM camserver.suggest_state), NULL, 'the other is not suggested');
SELECT pg_temp.claim(23, 2020) \g /dev/null
SELECT camserver.job_cancel(job_id) FROM held WHERE n = 23 \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(23)), '{"done":0,"fenced":1}', 'one that was cancelled');
INSERT INTO camserver.inference_jobs (kind, camera_id, captured_at, created_at, available_at)
    VALUES ('notify', 't_cam', now(), now(), now());
INSERT INTO held SELECT 24, job_id, token FROM camserver.job_claim('notify', :d1, 1);
SELECT is(pg_temp.complete(pg_temp.element(24)), '{"done":0,"fenced":1}', 'one that is no analysis');

-- One bad element fails the whole call.
SELECT pg_temp.claim(31, 3000), pg_temp.claim(32, 3010) \g /dev/null
TRUNCATE state;
INSERT INTO state SELECT pg_temp.everything();
SELECT throws_ok(format($$SELECT pg_temp.complete(pg_temp.element(31), pg_temp.element(32, %L))$$, more), code, NULL,
    what)
FROM (VALUES (1, '{"severity":9}', '23514', 'a severity out of range fails the whole call'),
    (2, '{"confidence":1.5}', '23514', 'a confidence out of range'), (3, '{"primary_event":null}', '23502',
    'no kind of event'),
    (4, '{"retention_class":"ever"}', '22P02', 'an unknown retention class'),
    (5, '{"retention_class":null}', '23502', 'no retention class'), (6, '{"tags":[""]}', '23514', 'an empty tag'),
    (7, '{"tags":{"a":1}}', '22023', 'tags that are no list'), (8, '{"count_hint":"many"}', '22P02',
    'a count that is none'))
    v (o, more, code, what) ORDER BY o;
SELECT is(pg_temp.everything(), before, 'of which nothing is left') FROM state;
SELECT is(pg_temp.complete(pg_temp.element(31)), '{"done":1,"fenced":0}', 'the good one alone is taken');

-- The suggestion.
UPDATE camserver.suggest_state SET camera_id = NULL, score = 0, expires_at = '-infinity';
SELECT pg_temp.claim(41, 3020), pg_temp.claim(42, 3030), pg_temp.claim(43, 3030, 't_cam2') \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(41, '{"suggest_score":60,"primary_event":"animal"}'),
    pg_temp.element(42, '{"suggest_score":160,"hazard":true,"primary_event":"hazard"}'),
    pg_temp.element(43, '{"suggest_score":55,"primary_event":"vehicle"}'))->>'done', '3', 'three detections');
SELECT is((SELECT (camera_id, round(score), reason)::text FROM camserver.suggest_state WHERE expires_at >
    clock_timestamp()),
    '(t_cam,160,hazard)', 'the best of them is suggested');
SELECT pg_temp.claim(44, 3040) \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(44) - 'suggest_score' - 'hazard')->>'done', '1',
    'a detection without a score');
SELECT is((SELECT (camera_id, round(score), reason)::text FROM camserver.suggest_state), '(t_cam,160,hazard)',
    'suggests nothing');

-- A disabled camera's frames that are on their way arrive.
SELECT pg_temp.claim(45, 3050, 't_cam2') \g /dev/null
SELECT camserver.camera_set('t_cam2', '{"enabled":false}') \g /dev/null
SELECT is(pg_temp.complete(pg_temp.element(45, '{"suggest_score":1000}')), '{"done":1,"fenced":0}',
    'a camera that was disabled meanwhile');
SELECT is((SELECT camera_id FROM camserver.suggest_state), 't_cam', 'is not suggested');
SET LOCAL ROLE camserver_dispatcher;
SELECT is(camserver.analysis_complete(:d1, '[]'), '{"done":0,"fenced":0}', 'the dispatcher''s role may call it');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
