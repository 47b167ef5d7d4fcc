-- The console's answers, the audit and the history by minute.
BEGIN;
SELECT plan(40);
SELECT camserver.camera_set('t_cam', '{"display_name":"Hall","location_label":"1F"}') \g /dev/null
SELECT camserver.camera_set('t_quiet') \g /dev/null
SELECT camserver.camera_set('t_off', '{"enabled":false}') \g /dev/null
SELECT camserver.frame_ingest('u', gen_random_uuid(), 't_cam', now() - interval '1 minute', 0, 1) \g /dev/null
CREATE FUNCTION pg_temp.noted(p_subject text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(action || ' ' || coalesce(before::text, '-') || ' ' || coalesce(after::text, '-'), ', ' ORDER BY audit_id)
    FROM camserver.audit WHERE subject = p_subject $$;
CREATE FUNCTION pg_temp.camera(p_id text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT c FROM jsonb_array_elements(camserver.console_live('anon:x', 'viewer')->'cameras') c WHERE c->>'camera_id' = p_id $$;

-- Live.
SELECT is(camserver.console_live('anon:abc', 'viewer')->'who', '{"role":"viewer","name":null,"sign_in":"anonymous"}', 'a guest');
SELECT is(camserver.console_live('user:jane:doe', 'operator')->'who', '{"role":"operator","name":"jane:doe","sign_in":"web"}', 'the web server''s');
SELECT is(camserver.console_live('token:nvr', 'viewer')->'who', '{"role":"viewer","name":"nvr","sign_in":"token"}', 'a token''s');
SELECT is(pg_temp.camera('t_cam') - 'latest_frame', '{"camera_id":"t_cam","display_name":"Hall","location_label":"1F","online":true,
    "costs":{"sub":1,"main":2},"open_event":null}', 'a camera that sends');
SELECT ok((pg_temp.camera('t_cam')->'latest_frame'->>'spooled')::boolean, 'its picture is there');
SELECT is(pg_temp.camera('t_quiet')->'online', 'false', 'one that does not');
SELECT is(pg_temp.camera('t_quiet')->'latest_frame', 'null', 'has no picture');
SELECT is(pg_temp.camera('t_off'), NULL, 'one that is switched off is not shown');
UPDATE camserver.frames SET received_at = now() - interval '61 s' WHERE camera_id = 't_cam';
SELECT is(pg_temp.camera('t_cam')->'online', 'false', 'silent for a minute is offline');
SELECT is(camserver.console_live('anon:x', 'viewer'), camserver.console_live('anon:x', 'viewer'), 'twice the same while nothing changes');
SELECT is((SELECT count(*) FROM camserver.ui_sessions WHERE user_id IN ('anon:abc', 'anon:new')), 1::bigint, 'who comes back counts as looking');
SELECT camserver.console_live('anon:new', 'viewer', false) \g /dev/null
SELECT is((SELECT count(*) FROM camserver.ui_sessions WHERE user_id = 'anon:new'), 0::bigint, 'who does not, does not');

-- Events.
INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event, severity_max, retention_class,
    created_at, updated_at)
VALUES ('t_cam', now(), now(), '2026-01-01 00:00:00+00', 'closed', 'gap', 'human', 1, 'quarantine', now(), now());
CREATE TEMP TABLE e AS SELECT event_id, event_uuid AS uuid FROM camserver.events WHERE camera_id = 't_cam';
INSERT INTO camserver.event_tags SELECT event_id, unnest(ARRAY['human.presence', 'no.label']), 'human' FROM e;
SELECT is(camserver.console_events('anon:x', 'viewer', 't_cam')->'labels', '{"human.presence":"人物"}', 'labels of the tags that have one');
SELECT is(camserver.console_events('anon:x', 'viewer', 't_cam')->'cameras'->>'t_quiet', 't_quiet', 'the first page names every camera');
SELECT is(jsonb_array_length(camserver.console_events('anon:x', 'viewer', 't_cam')->'events'), 1, 'the events');
SELECT is(camserver.console_events('anon:x', 'viewer', p_cursor => 'nonsense'), '{"outcome":"BAD_CURSOR"}', 'a cursor that is none');
SELECT is(camserver.console_event('anon:x', 'viewer', uuid)->>'kept_until', '2026-03-02T00:00:00.000Z', 'kept until') FROM e;
SELECT is(camserver.console_event('anon:x', 'viewer', uuid)->>'display_name', 'Hall', 'the camera''s name') FROM e;
SELECT is(camserver.console_event('anon:x', 'viewer', gen_random_uuid()), '{"outcome":"UNKNOWN_EVENT"}', 'no such event');

-- The audit: whoever changes, and however.
SELECT is((SELECT user_id FROM camserver.caller_identify('operator', NULL, 'nobody', NULL)), 'user:nobody', 'a viewer asks for what is the operators''');
SELECT is(coalesce(current_setting('camserver.actor', true), ''), '', 'and is no actor');
INSERT INTO camserver.users VALUES ('boss', 'operator');
SELECT is((SELECT denied FROM camserver.caller_identify('operator', NULL, 'boss', NULL)), NULL, 'an operator may');
SELECT is(camserver.server_put('default', '{"total_units":60}')->'server'->>'total_units', '60', 'a budget is changed');
SELECT is((SELECT actor || ' ' || action || ' ' || before || ' ' || after FROM camserver.audit WHERE subject = 'default'),
    'user:boss budget.set {"total_units": 50} {"total_units": 60}', 'and noted, with who did it');
SELECT is(camserver.server_put('default', '{"total_units":60}')->>'outcome', 'OK', 'the same again');
SELECT is((SELECT count(*) FROM camserver.audit WHERE subject = 'default'), 1::bigint, 'is no change');
SELECT is(camserver.server_put('default', '{"total_units":-1}')->>'outcome', 'BAD_REQUEST', 'a bad value');
SELECT is(camserver.server_put('default', '{"units":1}')->>'outcome', 'BAD_REQUEST', 'an unknown name');
SELECT is(camserver.server_put('nowhere', '{"total_units":1}')->>'outcome', 'UNKNOWN_SERVER', 'an unknown server is not made');
SELECT set_config('camserver.actor', '', true) \g /dev/null
SELECT camserver.limits_set('global', '', '{"requests":5,"window_ms":1000}') \g /dev/null
SELECT is(pg_temp.noted('global'), 'limit.set {"requests": null, "window_ms": null} {"requests": 5, "window_ms": 1000}', 'a limit');
SELECT camserver.pool_set('t_pool', '{"command":"x","environment":{"KEY":"secret"}}') \g /dev/null
SELECT camserver.pool_set('t_pool', '{"max_capacity":9}') \g /dev/null
SELECT ok(pg_temp.noted('t_pool') LIKE 'pool.add%["KEY"]%, pool.set {"max_capacity": 50} {"max_capacity": 9}', 'a pool');
SELECT ok(pg_temp.noted('t_pool') NOT LIKE '%secret%', 'without its secrets');
UPDATE camserver.pools SET starts_ok = 7, last_error = 'x' WHERE name = 't_pool';
SELECT is((SELECT count(*) FROM camserver.audit WHERE subject = 't_pool'), 2::bigint, 'what the manager counts is no change');
SELECT camserver.node_set('t_node', '{"base_url":"http://127.0.0.1:9","models":["m"]}') \g /dev/null
SELECT camserver.node_set('t_node', '{"draining":true}') \g /dev/null
SELECT ok(pg_temp.noted('t_node') LIKE '%, node.set {"draining": false} {"draining": true}', 'a node');
SELECT camserver.setting_set('camera_offline_sec', '90') \g /dev/null
SELECT is((SELECT actor || ' ' || action FROM camserver.audit WHERE subject = 'camera_offline_sec'), 'db:' || session_user || ' setting.set',
    'a setting, by a person at psql');
SELECT camserver.case_attach('user:jane', uuid, '2026-1') FROM e \g /dev/null
SELECT camserver.case_attach('user:jane', uuid, '2026-1') FROM e \g /dev/null
SELECT is(pg_temp.noted(uuid::text), 'case.attach {"case_id": null} {"case_id": "2026-1"}', 'a case, once') FROM e;

-- History, and the page that shows it.
INSERT INTO camserver.inference_jobs (kind, status, camera_id, captured_at, created_at, available_at, finished_at)
SELECT 'analyze', 'done', 't_cam', now(), clock_timestamp() - interval '2 s', now(), clock_timestamp() FROM generate_series(1, 3);
SELECT camserver.history_record() \g /dev/null
SELECT camserver.history_record() \g /dev/null
SELECT is((SELECT sum(value) FROM camserver.minute_history WHERE series = 'jobs_done.analyze'), 3::double precision, 'each job is counted once');
SELECT is((SELECT round(max(value)) FROM camserver.minute_history WHERE series = 'job_p95_sec.analyze'), 2::double precision, 'and its time');
SELECT is((SELECT count(*) FROM jsonb_each(camserver.console_history(clock_timestamp())) s WHERE s.key <> 'refused' AND jsonb_array_length(s.value) <> 60),
    0::bigint, 'every series has a number for each of 60 minutes');
SELECT is((SELECT array_agg(k ORDER BY k) FROM jsonb_object_keys(camserver.console_operations('user:boss', 'operator')) k), ARRAY['audit', 'dead_jobs',
    'dispatchers', 'history', 'limits', 'nodes', 'outcome', 'pools', 'queue', 'refusals', 'servers', 'status', 'thresholds', 'who'], 'all that the page shows');

SELECT * FROM finish();
ROLLBACK;
