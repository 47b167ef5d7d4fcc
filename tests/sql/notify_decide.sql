-- notify_decide, notify_promote, notify_cooldown, notify_delivered, notify_sweep: who is told of what, when, in which
-- order, and what is not told and why.
BEGIN;
SELECT plan(73);

DELETE FROM camserver.inference_jobs;
DELETE FROM camserver.channels;
DELETE FROM camserver.events;
DELETE FROM camserver.dispatchers;
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
SELECT camserver.dispatcher_register(:d1, 'h', 1, 'v'), camserver.camera_set('t_a'), camserver.camera_set('t_b') \g /dev/null
INSERT INTO camserver.channels (name, kind, url) VALUES ('one', 'slack', 'http://127.0.0.1/');
-- An event has a name of ours: camera.kind, or camera.kind.which.
CREATE TEMP TABLE named (name text PRIMARY KEY, event_id bigint);
CREATE FUNCTION pg_temp.event(p_name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_event bigint := (SELECT event_id FROM named WHERE name = p_name);
BEGIN
    IF v_event IS NULL THEN
        INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event, severity_max,
            retention_class, created_at, updated_at)
        VALUES ('t_' || split_part(p_name, '.', 1), now(), now(), now(), 'closed', 'stale', split_part(p_name, '.', 2), 0,
            'normal', now(), now()) RETURNING event_id INTO v_event;
        INSERT INTO named VALUES (p_name, v_event);
    END IF;
    RETURN v_event;
END $$;
CREATE FUNCTION pg_temp.tell(p_name text, p_severity integer DEFAULT 2, p_frame integer DEFAULT 1, p_rule text DEFAULT 'severity')
RETURNS integer LANGUAGE sql AS $$
    SELECT camserver.notify_decide('t_' || split_part(p_name, '.', 1), pg_temp.event(p_name), p_frame,
        split_part(p_name, '.', 2), p_severity::smallint, p_rule) $$;
-- What a channel has, oldest first: event state(reason) severity x frames.
CREATE FUNCTION pg_temp.told(p_channel text DEFAULT 'one') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(e.name || ' ' || n.state || coalesce('(' || n.reason || ')', '') || ' ' || n.severity || ' x' || n.count,
        ', ' ORDER BY n.notification_id)
    FROM camserver.notifications n JOIN camserver.channels c USING (channel_id) JOIN named e USING (event_id)
    WHERE c.name = p_channel $$;
CREATE TEMP TABLE held (job_id bigint PRIMARY KEY, token bigint);
CREATE FUNCTION pg_temp.claim(p_n integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
    WITH c AS (SELECT * FROM camserver.followup_claim('00000000-0000-0000-0000-0000000000d1', 0, p_n, 0)),
    i AS (INSERT INTO held SELECT job_id, token FROM c)
    SELECT string_agg(concat(facts->'channel'->>'name', ' ', facts->>'camera_id', ' ', facts->>'primary_event'), ', '
        ORDER BY job_id) FROM c $$;
-- All that is claimed arrives.
CREATE FUNCTION pg_temp.deliver() RETURNS jsonb LANGUAGE sql AS $$
    WITH h AS (DELETE FROM held RETURNING *)
    SELECT camserver.followup_complete('00000000-0000-0000-0000-0000000000d1', coalesce(jsonb_agg(to_jsonb(h)), '[]')) FROM h $$;
CREATE FUNCTION pg_temp.fail(p_final boolean DEFAULT false, p_delay integer DEFAULT 1000) RETURNS jsonb LANGUAGE sql AS $$
    WITH h AS (DELETE FROM held RETURNING *)
    SELECT camserver.job_fail('00000000-0000-0000-0000-0000000000d1', jsonb_agg(to_jsonb(h)
        || jsonb_build_object('error', 'it is down', 'delay_ms', p_delay, 'final', p_final))) FROM h $$;
CREATE FUNCTION pg_temp.age(p_by interval) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.notifications SET sent_at = sent_at - p_by WHERE state = 'sent' $$;
CREATE FUNCTION pg_temp.clear() RETURNS void LANGUAGE sql AS $$
    DELETE FROM camserver.notifications;
    DELETE FROM camserver.inference_jobs;
    DELETE FROM held;
    DELETE FROM camserver.events WHERE event_id IN (SELECT event_id FROM named);
    DELETE FROM named $$;
-- One kind of event was delivered for camera a, so many seconds ago.
CREATE FUNCTION pg_temp.delivered(p_name text, p_severity integer, p_ago integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_temp.clear();
    PERFORM pg_temp.tell(p_name, p_severity);
    PERFORM pg_temp.claim();
    PERFORM pg_temp.deliver();
    PERFORM pg_temp.age(make_interval(secs => p_ago));
END $$;

-- The first one.
SELECT is(pg_temp.tell('a.human', 2, 7, 'hazard'), 1, 'what nobody was told of makes a job');
SELECT is(pg_temp.told(), 'a.human sending 2 x1', 'it is on its way');
SELECT is((SELECT (n.rule, n.frame_id, n.job_id = j.job_id, n.sent_at)::text FROM camserver.notifications n,
    camserver.inference_jobs j), '(hazard,7,t,)', 'with its rule, its frame and its job');
SELECT is((SELECT (j.kind, j.status, j.camera_id, j.frame_id, j.ref_id = n.notification_id, j.max_attempt)::text
    FROM camserver.notifications n, camserver.inference_jobs j), '(notify,queued,t_a,7,t,20)', 'which knows what it is for');

-- Coalescing: into one whose job has not begun.
SELECT is(pg_temp.tell('a.human', 1, 8, 'unknown'), 0, 'another frame of that kind makes none');
SELECT is(pg_temp.told(), 'a.human sending 2 x2', 'it is taken into the one that waits');
SELECT is((SELECT (frame_id, rule)::text FROM camserver.notifications), '(7,hazard)', 'whose picture and rule a weaker frame leaves');
SELECT pg_temp.tell('a.human', 2, 9, 'unknown') \g /dev/null
SELECT is((SELECT (frame_id, rule, severity)::text FROM camserver.notifications), '(9,hazard,2)', 'as strong: the newer picture');
SELECT pg_temp.tell('a.human', 3, 10, 'unknown') \g /dev/null
SELECT is((SELECT (frame_id, rule, severity, count)::text FROM camserver.notifications), '(10,unknown,3,4)',
    'stronger: its picture, rule and severity');
SELECT is((SELECT frame_id FROM camserver.inference_jobs), 10::bigint, 'and the picture is what its job delivers');
SELECT pg_temp.tell('a.human', 1, 11) \g /dev/null
SELECT is((SELECT frame_id FROM camserver.inference_jobs), 10::bigint, 'not a weaker one''s');
SELECT pg_temp.tell('a.human.later', 2) \g /dev/null
SELECT is(pg_temp.told(), 'a.human.later sending 3 x6', 'also of the next event of that kind, which it then shows');
SELECT is((SELECT count(*)::integer FROM camserver.inference_jobs), 1, 'all with one job');
SELECT is(pg_temp.tell('a.animal'), 0, 'another kind of the same camera is a notification of its own');
SELECT is(pg_temp.told(), 'a.human.later sending 3 x6, a.animal pending 2 x1', 'which waits for its turn');
SELECT is(pg_temp.tell('a.animal', 3), 0, 'a frame for one that waits its turn');
SELECT is(pg_temp.told(), 'a.human.later sending 3 x6, a.animal pending 3 x2', 'is taken into that');
SELECT is(pg_temp.tell('b.human'), 1, 'another camera waits for nobody');

-- Not into one whose job runs: its text may be out already.
SELECT pg_temp.clear(), pg_temp.tell('a.human') \g /dev/null
SELECT is(pg_temp.claim(), 'one t_a human', 'claimed');
SELECT is(pg_temp.tell('a.human', 2, 2), 0, 'a frame meanwhile');
SELECT is(pg_temp.told(), 'a.human sending 2 x1, a.human pending 2 x1', 'is a notification that waits');
SELECT pg_temp.tell('a.human', 2, 3) \g /dev/null
SELECT is(pg_temp.told(), 'a.human sending 2 x1, a.human pending 2 x2', 'and takes in those that come after it');
SELECT is(pg_temp.fail(), '{"waiting":1,"dead":0,"fenced":0}', 'the delivery fails and is to be tried again');
SELECT pg_temp.tell('a.human', 2, 4) \g /dev/null
SELECT is(pg_temp.told(), 'a.human sending 2 x1, a.human pending 2 x3', 'frames go to the last one');
SELECT pg_temp.clear(), pg_temp.tell('a.human'), pg_temp.claim(), pg_temp.fail() \g /dev/null
SELECT pg_temp.tell('a.human', 3, 5) \g /dev/null
SELECT is(pg_temp.told(), 'a.human sending 3 x2', 'one in backoff still takes in more');

-- A cooldown begins with a delivery, not before.
SELECT pg_temp.clear(), pg_temp.tell('a.human'), pg_temp.claim(), pg_temp.fail(true) \g /dev/null
SELECT is(pg_temp.told(), 'a.human dead(it is down) 2 x1', 'a delivery was given up');
SELECT is(pg_temp.tell('a.human'), 1, 'which starts no cooldown');
SELECT pg_temp.claim() \g /dev/null
SELECT is(pg_temp.deliver(), '{"notify":1,"done":1,"fenced":0,"queued":true}', 'one that arrives');
SELECT is(pg_temp.told(), 'a.human dead(it is down) 2 x1, a.human sent 2 x1', 'is sent');
SELECT ok((SELECT sent_at BETWEEN now() AND clock_timestamp() FROM camserver.notifications WHERE state = 'sent'), 'at that time');
SELECT is(pg_temp.tell('a.human'), 0, 'and starts one');
SELECT is(pg_temp.told(), 'a.human dead(it is down) 2 x1, a.human sent 2 x1, a.human suppressed(cooldown_event) 2 x1',
    'which is recorded with its reason');

-- For camera and kind 300 s, for the camera 60 s; what is more severe passes.
CREATE FUNCTION pg_temp.after(p_first integer, p_ago integer, p_name text, p_severity integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_temp.delivered('a.human', p_first, p_ago);
    PERFORM pg_temp.tell(p_name, p_severity);
    RETURN (SELECT state || coalesce(' ' || reason, '') FROM camserver.notifications ORDER BY notification_id DESC LIMIT 1);
END $$;
SELECT is(pg_temp.after(2, ago, name, severity), expected, format('severity 2, then after %s s %s of %s', ago, name, severity))
FROM (VALUES (0, 'a.human', 2, 'suppressed cooldown_event'), (299, 'a.human', 2, 'suppressed cooldown_event'),
    (299, 'a.human', 1, 'suppressed cooldown_event'), (301, 'a.human', 2, 'sending'), (0, 'a.human', 3, 'sending'),
    (59, 'a.animal', 2, 'suppressed cooldown_camera'), (59, 'a.animal', 0, 'suppressed cooldown_camera'), (61, 'a.animal', 2, 'sending'),
    (0, 'a.animal', 3, 'sending'), (0, 'b.human', 0, 'sending')) AS v (ago, name, severity, expected);
SELECT pg_temp.delivered('a.human', 2, 100), pg_temp.tell('a.animal', 3), pg_temp.claim(), pg_temp.deliver() \g /dev/null
SELECT pg_temp.tell('a.human', 3), pg_temp.tell('a.vehicle', 3) \g /dev/null
SELECT is(pg_temp.told(), 'a.human sent 2 x1, a.animal sent 3 x1, a.human suppressed(cooldown_camera) 3 x1, '
    'a.vehicle suppressed(cooldown_camera) 3 x1', 'the camera''s cooldown is that of the most severe');
SELECT camserver.setting_set('notify_event_sec', '10'), camserver.setting_set('notify_camera_sec', '5') \g /dev/null
SELECT is(ARRAY[pg_temp.after(2, 9, 'a.human', 2), pg_temp.after(2, 11, 'a.human', 2), pg_temp.after(2, 4, 'a.animal', 2),
    pg_temp.after(2, 6, 'a.animal', 2)], '{suppressed cooldown_event,sending,suppressed cooldown_camera,sending}', 'both are settings');
SELECT camserver.setting_set('notify_event_sec', '0'), camserver.setting_set('notify_camera_sec', '0') \g /dev/null
SELECT is(pg_temp.after(2, 0, 'a.human', 2), 'sending', 'which may be 0');
SELECT camserver.setting_set('notify_event_sec', '300'), camserver.setting_set('notify_camera_sec', '60') \g /dev/null

-- Suppressed ones are counted, per event and reason.
SELECT pg_temp.delivered('a.human', 2, 0), pg_temp.tell('a.human', 1), pg_temp.tell('a.human', 2), pg_temp.tell('a.human', 0),
    pg_temp.tell('a.animal', 1), pg_temp.tell('a.human.later', 1) \g /dev/null
SELECT is(pg_temp.told(), 'a.human sent 2 x1, a.human suppressed(cooldown_event) 2 x3, a.animal suppressed(cooldown_camera) 1 x1, '
    'a.human.later suppressed(cooldown_event) 1 x1', 'one row an event, with the strongest severity and the number of frames');
SELECT is((SELECT count(*)::integer FROM camserver.inference_jobs WHERE status <> 'done'), 0, 'none has a job');

-- One camera's notifications go out in order; when one arrives the next has its turn, or none any more.
SELECT pg_temp.clear(), pg_temp.tell('a.human', 1), pg_temp.tell('a.animal', 2), pg_temp.tell('a.vehicle', 1), pg_temp.tell('a.hazard', 3),
    pg_temp.tell('b.human', 1) \g /dev/null
SELECT is(pg_temp.claim(9), 'one t_a human, one t_b human', 'the oldest of each camera is on its way, no other');
SELECT is(pg_temp.deliver()->>'done', '2', 'they arrive');
SELECT is(pg_temp.told(), 'a.human sent 1 x1, a.animal sending 2 x1, a.vehicle pending 1 x1, a.hazard pending 3 x1, b.human sent 1 x1',
    'the next of the camera, more severe, gets going');
SELECT pg_temp.claim(9), pg_temp.deliver() \g /dev/null
SELECT is(pg_temp.told(), 'a.human sent 1 x1, a.animal sent 2 x1, a.vehicle suppressed(cooldown_camera) 1 x1, a.hazard sending 3 x1, '
    'b.human sent 1 x1', 'the one after it is suppressed by now, and the one after that goes');
SELECT pg_temp.claim(9), pg_temp.deliver() \g /dev/null
SELECT is((SELECT count(*)::integer FROM camserver.inference_jobs WHERE status <> 'done'), 0, 'until none is left');
SELECT pg_temp.clear(), pg_temp.tell('a.human'), pg_temp.claim(), pg_temp.tell('a.human', 2, 2), pg_temp.deliver() \g /dev/null
SELECT is(pg_temp.told(), 'a.human sent 2 x1, a.human suppressed(cooldown_event) 2 x1', 'a frame of a delivery''s time is suppressed by it');
SELECT pg_temp.clear(), pg_temp.tell('a.human'), pg_temp.claim(), pg_temp.tell('a.human', 3, 2), pg_temp.deliver() \g /dev/null
SELECT is(pg_temp.told(), 'a.human sent 2 x1, a.human sending 3 x1', 'unless it is more severe');

-- One that died leaves the others waiting, until the sweep.
SELECT pg_temp.clear(), pg_temp.tell('a.human'), pg_temp.tell('a.animal'), pg_temp.tell('a.vehicle'), pg_temp.tell('b.human') \g /dev/null
SELECT is(camserver.notify_sweep(), '{"count":0,"more":false}', 'with all in order the sweep finds nothing');
SELECT pg_temp.claim(9) \g /dev/null
SELECT is(pg_temp.fail(true)->>'dead', '2', 'the first ones die');
SELECT is(pg_temp.told(), 'a.human dead(it is down) 2 x1, a.animal pending 2 x1, a.vehicle pending 2 x1, b.human dead(it is down) 2 x1',
    'with the error for a reason');
SELECT is(camserver.notify_sweep(), '{"count":1,"more":false}', 'the sweep lets the next go');
SELECT is(pg_temp.told(), 'a.human dead(it is down) 2 x1, a.animal sending 2 x1, a.vehicle pending 2 x1, b.human dead(it is down) 2 x1',
    'in order');
SELECT is(camserver.notify_sweep(), '{"count":0,"more":false}', 'one at a time');
SELECT pg_temp.claim() \g /dev/null
SELECT camserver.job_cancel((SELECT job_id FROM held), 'not wanted') \g /dev/null
SELECT is(pg_temp.deliver()->>'fenced', '1', 'one that was cancelled under way does not count as delivered');
SELECT is(camserver.notify_sweep()->>'count', '1', 'the next goes then, too');
SELECT is(pg_temp.told(), 'a.human dead(it is down) 2 x1, a.animal dead(not wanted) 2 x1, a.vehicle sending 2 x1, '
    'b.human dead(it is down) 2 x1', 'without a cooldown');
UPDATE camserver.sweeps SET next_run_at = CASE name WHEN 'notifications' THEN '-infinity' ELSE 'infinity' END::timestamptz;
SELECT is(camserver.sweep_run(), '{"name":"notifications","count":0,"more":false}', 'its name is "notifications"');

-- Channels.
SELECT pg_temp.clear() \g /dev/null
INSERT INTO camserver.channels (name, kind, url, min_severity, enabled) VALUES ('two', 'slack', 'http://127.0.0.1/', 0, true),
    ('loud', 'slack', 'http://127.0.0.1/', 3, true), ('off', 'slack', 'http://127.0.0.1/', 0, false);
SELECT is(pg_temp.tell('a.human', 2), 2, 'each channel that wants it has a job of its own');
SELECT is(ARRAY[pg_temp.told('one'), pg_temp.told('two'), pg_temp.told('loud'), pg_temp.told('off')],
    ARRAY['a.human sending 2 x1', 'a.human sending 2 x1', NULL, NULL], 'not one that wants severity 3, nor one that is off');
SELECT is(pg_temp.claim(1), 'one t_a human', 'one channel''s is delivered');
SELECT pg_temp.deliver() \g /dev/null
SELECT is(pg_temp.tell('a.human', 2), 0, 'a frame after that');
SELECT is(ARRAY[pg_temp.told('one'), pg_temp.told('two')],
    ARRAY['a.human sent 2 x1, a.human suppressed(cooldown_event) 2 x1', 'a.human sending 2 x2'], 'cools down there, is taken in here');
SELECT is(pg_temp.tell('a.human', 3), 2, 'severity 3 is for the first again and for the loud one');
SELECT is(pg_temp.told('loud'), 'a.human sending 3 x1', 'whose first it is');
UPDATE camserver.channels SET enabled = false;
SELECT is(pg_temp.tell('b.human', 3), 0, 'without a channel there is nothing to do');
SELECT is((SELECT count(*)::integer FROM camserver.notifications WHERE camera_id = 't_b'), 0, 'nor to record');

SELECT * FROM finish();
ROLLBACK;
