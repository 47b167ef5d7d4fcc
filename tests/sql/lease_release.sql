-- lease_release: gives back once, answers OK as often as asked, and only to the owner.
BEGIN;
SELECT plan(19);

CREATE FUNCTION pg_temp.usage() RETURNS text LANGUAGE sql AS $$
    SELECT active_modals || '/' || units_used FROM camserver.stream_usage WHERE stream_server_id = 'default' $$;

SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.lease_acquire('r1', 't_cam', 'main', false, '00000000-0000-0000-0000-000000000001') \g /dev/null
SELECT camserver.lease_acquire('r2', 't_cam', 'sub', false, '00000000-0000-0000-0000-000000000002') \g /dev/null
SELECT camserver.lease_acquire('r3', 't_cam', 'sub', false, '00000000-0000-0000-0000-000000000003') \g /dev/null
SELECT is(pg_temp.usage(), '3/4', 'three leases');

SELECT is(camserver.lease_release('other', '00000000-0000-0000-0000-000000000001'), '{"outcome":"UNKNOWN_LEASE"}',
    'somebody else''s lease is unknown');
SELECT is(pg_temp.usage(), '3/4', 'and stays');
SELECT is(camserver.lease_release('r1', '00000000-0000-0000-0000-000000000001'), '{"outcome":"OK"}',
    'one''s own is given back');
SELECT is(pg_temp.usage(), '2/2', 'with its units');
SELECT is(camserver.lease_release('r1', '00000000-0000-0000-0000-000000000001'), '{"outcome":"OK"}',
    'a second time is OK too');
SELECT is(pg_temp.usage(), '2/2', 'and gives back nothing');
SELECT is(camserver.lease_release('other', '00000000-0000-0000-0000-000000000001'), '{"outcome":"UNKNOWN_LEASE"}',
    'somebody else''s ended lease is unknown as well');
SELECT is((SELECT (user_id, camera_id, quality, end_reason)::text FROM camserver.modal_lease_log
    WHERE lease_id = '00000000-0000-0000-0000-000000000001'), '(r1,t_cam,main,released)', 'the log says why it ended');
SELECT is(camserver.lease_release('r1', '99999999-0000-0000-0000-000000000000'), '{"outcome":"UNKNOWN_LEASE"}',
    'an id that never was');
SELECT is(camserver.lease_acquire('r1', 't_cam')->>'outcome', 'GRANTED', 'after a release the user may watch again');

-- A dead one.
UPDATE camserver.modal_leases SET last_heartbeat = last_heartbeat - interval '46 s' WHERE user_id = 'r2';
SELECT is(camserver.lease_release('r2', '00000000-0000-0000-0000-000000000002'), '{"outcome":"OK"}',
    'a dead lease may be given back');
SELECT is(pg_temp.usage(), '2/2', 'once');
UPDATE camserver.modal_leases SET expires_at = clock_timestamp() WHERE user_id = 'r3';
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp();
SELECT camserver.lease_sweep() \g /dev/null
SELECT is(camserver.lease_release('r3', '00000000-0000-0000-0000-000000000003'), '{"outcome":"OK"}',
    'also when it was swept');
SELECT is((SELECT end_reason FROM camserver.modal_lease_log WHERE user_id = 'r3'), 'ttl', 'which stays the reason');
SELECT is(pg_temp.usage(), '1/1', 'usage agrees');

SELECT throws_ok($$SELECT camserver.lease_release('r1', lease_id,
    'because') FROM camserver.modal_leases WHERE user_id = 'r1'$$, '23514', NULL,
    'only known reasons are logged');
SELECT is(camserver.lease_release(NULL, lease_id)->>'outcome', 'OK', 'an operator gives back anybody''s')
    FROM camserver.modal_leases WHERE user_id = 'r1';
SELECT is(pg_temp.usage(), '0/0', 'nothing is left');

SELECT * FROM finish();
ROLLBACK;
