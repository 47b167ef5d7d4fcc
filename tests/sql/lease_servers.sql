-- Stream servers: each has its own budget, and a budget may change under live leases.
BEGIN;
SELECT plan(45);

CREATE FUNCTION pg_temp.ask(p_user text, p_camera text, p_quality text DEFAULT 'sub') RETURNS text LANGUAGE sql AS $$
    SELECT camserver.lease_acquire(p_user, p_camera, p_quality::camserver.stream_quality)->>'outcome' $$;
CREATE FUNCTION pg_temp.usage(p_server text) RETURNS text LANGUAGE sql AS $$
    SELECT active_modals || '/' || units_used FROM camserver.stream_usage WHERE stream_server_id = p_server $$;

SELECT camserver.stream_server_set('t_a', '{"total_units":18,"host":"ha"}') \g /dev/null
SELECT camserver.stream_server_set('t_b',
    '{"total_units":10,"baseline_units":2,"max_ui_users":2,"sub_cost":3,"main_cost":4,
    "modal_ttl_sec":60,"heartbeat_interval_sec":5,"heartbeat_grace_sec":9,
    "stream_url_template":"rtsp://b/{camera_id}/live","host":"hb"}') \g /dev/null
SELECT camserver.camera_set('t_ca', '{"stream_server_id":"t_a"}') \g /dev/null
SELECT camserver.camera_set('t_cb', '{"stream_server_id":"t_b"}') \g /dev/null

SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 't_a'), 3, '18 - 5 - 10 = 3');
SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 't_b'), 2, '10 - 2 - 2 x 3 = 2');
SELECT is(pg_temp.ask('a1', 't_ca', 'main'), 'GRANTED', 'server a grants');
SELECT is(pg_temp.ask('a2', 't_ca', 'main'), 'OVER_CAPACITY', 'up to its budget');
SELECT is(pg_temp.ask('a2', 't_ca'), 'GRANTED', 'exactly');
SELECT is(pg_temp.ask('b1', 't_cb'), 'OVER_CAPACITY', 'server b has its own costs');
SELECT camserver.stream_server_set('t_b', '{"total_units":14}') \g /dev/null
SELECT is(pg_temp.usage('t_a'), '2/3', 'a is full');

CREATE TEMP TABLE b AS SELECT camserver.lease_acquire('b1', 't_cb', 'main') AS a;
SELECT is(a->>'outcome', 'GRANTED', 'while b, now larger, grants') FROM b;
SELECT is(a->>'stream_url', 'rtsp://b/t_cb/live', 'with its own URL') FROM b;
SELECT is((a->>'heartbeat_interval_sec', a->>'heartbeat_grace_sec')::text, '(5,9)', 'its own heartbeat') FROM b;
SELECT ok((a->>'expires_at')::timestamptz <= clock_timestamp() + interval '60 s', 'and its own TTL') FROM b;
SELECT is(pg_temp.usage('t_b'), '1/4', 'it pays b''s price');
SELECT is(pg_temp.usage('t_a'), '2/3', 'a is not touched');
SELECT is(pg_temp.usage('default'), '0/0', 'nor is the default server');
SELECT is(pg_temp.ask('a1', 't_cb'), 'USER_ALREADY_HAS_MODAL', 'one lease a user counts over all servers');

-- A dead lease on the other server.
UPDATE camserver.modal_leases SET last_heartbeat = last_heartbeat - interval '10 s' WHERE user_id = 'b1';
SELECT is(camserver.lease_heartbeat('b1', lease_id)->>'outcome', 'LEASE_EXPIRED', 'the grace is the lease''s own')
    FROM camserver.modal_leases WHERE user_id = 'b1';
SELECT camserver.stream_server_set('t_a', '{"total_units":19}') \g /dev/null
SELECT is(pg_temp.ask('b1', 't_ca'), 'GRANTED', 'a dead lease on b does not keep its user from a');
SELECT is(pg_temp.usage('t_b'), '0/0', 'b has its units back');
SELECT is(pg_temp.usage('t_a'), '3/4', 'a has given them');

-- Overload is each host's own.
SELECT camserver.health_report(NULL, 'ha', 0, 99, 10, 0, 'overload', true, true, 'cpu') \g /dev/null
SELECT is(pg_temp.ask('x1', 't_ca'), 'SYSTEM_OVERLOAD', 'an overloaded host refuses');
SELECT is(pg_temp.ask('x1', 't_cb'), 'GRANTED', 'and the other host does not');
SELECT camserver.health_report(NULL, 'ha', 1, 9, 10, 0, 'normal', false, false, NULL) \g /dev/null

-- A budget that is lowered under live leases.
SELECT lives_ok($$SELECT camserver.stream_server_set('t_a', '{"total_units":17}')$$,
    'a budget may be lowered below what is used');
CREATE TEMP TABLE low AS SELECT camserver.lease_acquire('x2', 't_ca') AS a;
SELECT is((a->>'outcome', a->>'units_available', a->>'modal_budget', a->>'modal_usage')::text, '(OVER_CAPACITY,0,2,4)',
    'nobody is admitted, and no number is negative') FROM low;
SELECT is(camserver.lease_heartbeat('a1', lease_id)->>'outcome', 'OK', 'who was there stays')
    FROM camserver.modal_leases WHERE user_id = 'a1';
SELECT is((SELECT modal_remaining FROM camserver.budget WHERE stream_server_id = 't_a'), 0, 'nothing remains');
SELECT is(camserver.lease_release('b1', lease_id)->>'outcome', 'OK', 'leases drain')
    FROM camserver.modal_leases WHERE user_id = 'b1';
SELECT is(pg_temp.ask('x2', 't_ca'), 'OVER_CAPACITY', 'still above');
SELECT is(camserver.lease_release('a1', lease_id)->>'outcome', 'OK', 'and drain')
    FROM camserver.modal_leases WHERE user_id = 'a1';
SELECT is(pg_temp.ask('x2', 't_ca'), 'GRANTED', 'until there is room under the lower budget');
SELECT is(pg_temp.ask('x3', 't_ca'), 'OVER_CAPACITY', 'of two units');
SELECT camserver.stream_server_set('t_a', '{"total_units":3}') \g /dev/null
SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 't_a'), 0, 'a budget is never below 0');
SELECT is(pg_temp.ask('x3', 't_ca'), 'OVER_CAPACITY', 'and 0 refuses');

-- A camera that moves takes no lease with it.
SELECT camserver.camera_set('t_ca', '{"stream_server_id":"t_b"}') \g /dev/null
SELECT is(camserver.lease_release('x2', lease_id)->>'outcome', 'OK', 'a lease ends where it was granted')
    FROM camserver.modal_leases WHERE user_id = 'x2';
SELECT is(pg_temp.usage('t_a'), '1/1', 'also after its camera moved to another server');

-- Parameters.
SELECT throws_ok($$SELECT camserver.stream_server_set('t_a', '{"units":3}')$$, '42703',
    'a stream server has no parameter "units"', 'an unknown parameter is named');
SELECT throws_ok($$SELECT camserver.stream_server_set('t_a', '{"total_units":-1}')$$, '23514', NULL,
    'a negative budget is refused');
SELECT throws_ok($$SELECT camserver.stream_server_set('t_a', '{"sub_cost":0}')$$, '23514', NULL,
    'a stream for nothing too');
SELECT throws_ok($$SELECT camserver.stream_server_set('t_a', '{"heartbeat_grace_sec":29}')$$, '23514', NULL,
    'and a grace shorter than the heartbeat interval');
SELECT throws_ok($$SELECT camserver.stream_server_set('a/b')$$, '23514', NULL, 'names follow the grammar');
SELECT is((SELECT total_units FROM camserver.stream_servers WHERE stream_server_id = 't_b'), 14,
    'what is not named stays');
SELECT throws_ok($$SELECT camserver.camera_set('t_ca', '{"color":"red"}')$$, '42703',
    'a camera has no property "color"',
    'an unknown property of a camera is named');
SELECT throws_ok($$SELECT camserver.camera_set('t_ca', '{"stream_server_id":"none"}')$$, '23503', NULL,
    'a camera needs a server that exists');
SELECT throws_ok($$SELECT camserver.camera_set('../x')$$, '23514', NULL, 'and a name of the grammar');
SELECT throws_ok($$SELECT camserver.camera_set('t_ca', '{"suggest_weight":11}')$$, '23514', NULL,
    'and a weight up to 10');
SELECT camserver.camera_set('t_ca', '{"location_label":"2F","stream_url":"x"}') \g /dev/null
SELECT camserver.camera_set('t_ca', '{"location_label":null,"stream_url":""}') \g /dev/null
SELECT is((SELECT (display_name, location_label, stream_url)::text FROM camserver.cameras WHERE camera_id = 't_ca'),
    '(t_ca,,)',
    'a label and a URL can be taken away');

SELECT * FROM finish();
ROLLBACK;
