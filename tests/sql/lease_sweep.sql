-- lease_sweep: ends what is dead, nothing else, server by server; usage_recount mends what a hand edit broke.
BEGIN;
SELECT plan(25);

CREATE FUNCTION pg_temp.usage(p_server text) RETURNS text LANGUAGE sql AS $$
    SELECT active_modals || '/' || units_used FROM camserver.stream_usage WHERE stream_server_id = p_server $$;

SELECT camserver.stream_server_set('t_a') \g /dev/null
SELECT camserver.stream_server_set('t_b') \g /dev/null
SELECT camserver.camera_set('t_ca', '{"stream_server_id":"t_a"}') \g /dev/null
SELECT camserver.camera_set('t_cb', '{"stream_server_id":"t_b"}') \g /dev/null

SELECT is(camserver.lease_sweep(), '{"count":0,"more":false}', 'nothing to sweep');
SELECT camserver.lease_acquire('a' || i, 't_ca', 'main') FROM generate_series(1, 4) i \g /dev/null
SELECT camserver.lease_acquire('b' || i, 't_cb') FROM generate_series(1, 3) i \g /dev/null
SELECT is(camserver.lease_sweep(), '{"count":0,"more":false}', 'live leases are not swept');
SELECT is((pg_temp.usage('t_a'), pg_temp.usage('t_b'))::text, '(4/8,3/3)', 'all are there');
SELECT ok((SELECT next_dead_at BETWEEN clock_timestamp() + interval '40 s' AND clock_timestamp() + interval '45 s'
    FROM camserver.stream_usage WHERE stream_server_id = 't_a'), 'none can be dead before the grace is over');

-- a1 past its TTL, a2 silent, a3 and a4 alive; b1 silent.
UPDATE camserver.modal_leases SET expires_at = clock_timestamp() - interval '1 s' WHERE user_id = 'a1';
UPDATE camserver.modal_leases SET last_heartbeat = last_heartbeat - interval '46 s' WHERE user_id IN ('a2', 'b1');
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp() - interval '20 s' WHERE stream_server_id = 't_a';
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp() - interval '10 s' WHERE stream_server_id = 't_b';
SELECT is(camserver.lease_sweep(), '{"count":2,"more":true}', 'the server that waited longest comes first');
SELECT is((pg_temp.usage('t_a'), pg_temp.usage('t_b'))::text, '(2/4,3/3)', 'and only that');
SELECT is(camserver.lease_sweep(), '{"count":1,"more":false}', 'then the other');
SELECT is((pg_temp.usage('t_a'), pg_temp.usage('t_b'))::text, '(2/4,2/2)', 'the units are back');
SELECT results_eq('SELECT user_id, end_reason FROM camserver.modal_lease_log ORDER BY user_id',
    $$VALUES ('a1', 'ttl'), ('a2', 'heartbeat'), ('b1', 'heartbeat')$$, 'each with its reason');
SELECT results_eq('SELECT user_id FROM camserver.modal_leases ORDER BY user_id', ARRAY['a3', 'a4', 'b2', 'b3'],
    'the living stay');
SELECT ok((SELECT min(next_dead_at) > clock_timestamp() FROM camserver.stream_usage),
    'no server waits for a sweep now');

-- A server whose time has come, but whose leases sent heartbeats.
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp() WHERE stream_server_id = 't_a';
SELECT camserver.lease_heartbeat(user_id, lease_id) FROM camserver.modal_leases WHERE stream_server_id = 't_a'
    \g /dev/null
SELECT is(camserver.lease_sweep(), '{"count":0,"more":false}', 'a heartbeat keeps its lease');
SELECT is((SELECT next_dead_at FROM camserver.stream_usage WHERE stream_server_id = 't_a'),
    (SELECT min(last_heartbeat) + interval '45 s' FROM camserver.modal_leases WHERE stream_server_id = 't_a'),
    'and moves the time of the next death');
UPDATE camserver.modal_leases SET expires_at = clock_timestamp() + interval '7 s' WHERE user_id = 'a3';
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp() WHERE stream_server_id = 't_a';
SELECT camserver.lease_sweep() \g /dev/null
SELECT is((SELECT next_dead_at FROM camserver.stream_usage WHERE stream_server_id = 't_a'),
    (SELECT expires_at FROM camserver.modal_leases WHERE user_id = 'a3'), 'a TTL that ends earlier is the next death');

-- An id that lived twice has one line in the log, the newer.
SELECT camserver.lease_acquire('c1', 't_ca', 'sub', false, '33333333-3333-3333-3333-333333333333') \g /dev/null
SELECT camserver.lease_release('c1', '33333333-3333-3333-3333-333333333333') \g /dev/null
SELECT camserver.lease_acquire('c1', 't_cb', 'main', false, '33333333-3333-3333-3333-333333333333') \g /dev/null
SELECT camserver.lease_revoke('33333333-3333-3333-3333-333333333333') \g /dev/null
SELECT is((SELECT (camera_id, quality, end_reason)::text FROM camserver.modal_lease_log
    WHERE lease_id = '33333333-3333-3333-3333-333333333333'), '(t_cb,main,revoked)',
    'an id used twice is logged by its last end');

-- usage_recount.
SELECT is(camserver.usage_recount(), 0, 'usage is right');
DELETE FROM camserver.modal_leases WHERE user_id IN ('a3', 'b2');
SELECT is((pg_temp.usage('t_a'), pg_temp.usage('t_b'))::text, '(2/4,2/2)', 'leases deleted by hand leave usage wrong');
SELECT is(camserver.usage_recount(), 2, 'which is found on both servers');
SELECT is((pg_temp.usage('t_a'), pg_temp.usage('t_b'))::text, '(1/2,1/1)', 'and mended');
SELECT is(camserver.usage_recount(), 0, 'once');
INSERT INTO camserver.modal_leases SELECT gen_random_uuid(), 'z' || i, 't_ca', 't_a', 'main', 50, 45, now(),
    now() + interval '9 s', now()
    FROM generate_series(1, 2) i;
SELECT lives_ok('SELECT camserver.usage_recount()', 'leases put in by hand past the budget are counted');
SELECT is(pg_temp.usage('t_a'), '3/102', 'as they are');
SELECT is(camserver.lease_acquire('q', 't_ca')->>'outcome', 'OVER_CAPACITY', 'and refuse others');
DELETE FROM camserver.modal_leases;
SELECT is(camserver.usage_recount(), 2, 'all leases gone');
SELECT is((pg_temp.usage('t_a'), pg_temp.usage('t_b'))::text, '(0/0,0/0)', 'all units back');

SELECT * FROM finish();
ROLLBACK;
