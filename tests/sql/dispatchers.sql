-- Dispatchers: one row a process start; the first that names a stream server gives it its host.
BEGIN;
SELECT plan(20);

CREATE FUNCTION pg_temp.state(p_pid integer) RETURNS text LANGUAGE sql AS $$ SELECT state FROM
    camserver.dispatcher_list WHERE pid = p_pid $$;
DELETE FROM camserver.dispatchers;
UPDATE camserver.stream_servers SET host = NULL WHERE stream_server_id = 'default';

SELECT is(camserver.dispatcher_heartbeat('00000000-0000-0000-0000-000000000001')->>'known', 'false',
    'an unregistered one is told so');
SELECT camserver.dispatcher_register('00000000-0000-0000-0000-000000000001', 'h1', 11, '0.1', 'default') \g /dev/null
SELECT is((SELECT (host, pid, version)::text FROM camserver.dispatchers), '(h1,11,0.1)', 'a dispatcher registers');
SELECT is((SELECT host FROM camserver.stream_servers WHERE stream_server_id = 'default'), 'h1',
    'its stream server learns its host');
SELECT camserver.dispatcher_register('00000000-0000-0000-0000-000000000002', 'h2', 12, '0.1', 'default') \g /dev/null
SELECT is((SELECT host FROM camserver.stream_servers WHERE stream_server_id = 'default'), 'h1', 'and keeps it');
SELECT lives_ok($$SELECT camserver.dispatcher_register('00000000-0000-0000-0000-000000000003', 'h3', 13, '0.1',
    'none')$$, 'an unknown stream server does no harm');
SELECT lives_ok($$SELECT camserver.dispatcher_register('00000000-0000-0000-0000-000000000004', 'h3', 14, '0.1')$$,
    'nor does none');
SELECT is(camserver.dispatcher_heartbeat('00000000-0000-0000-0000-000000000001')->>'known', 'true', 'a heartbeat');
SELECT is(pg_temp.state(11), 'alive', 'is a sign of life');
UPDATE camserver.dispatchers SET last_heartbeat = last_heartbeat - interval '31 s' WHERE pid = 11;
SELECT is(pg_temp.state(11), 'dead', 'for 30 s');
SELECT is(camserver.dispatcher_heartbeat('00000000-0000-0000-0000-000000000001')->>'known', 'true',
    'a late one counts');
SELECT is(pg_temp.state(11), 'alive', 'again');
SELECT is(camserver.dispatcher_heartbeat('00000000-0000-0000-0000-000000000001')->>'dispatcher_stale_sec', '30',
    'with the answer come the tunables');
SELECT camserver.dispatcher_stop('00000000-0000-0000-0000-000000000001') \g /dev/null
SELECT is(pg_temp.state(11), 'stopped', 'a stop in good order');
SELECT is(camserver.dispatcher_heartbeat('00000000-0000-0000-0000-000000000001')->>'known', 'false',
    'ends its heartbeats');
SELECT camserver.dispatcher_register('00000000-0000-0000-0000-000000000001', 'h1', 11, '0.1', 'default') \g /dev/null
SELECT is(pg_temp.state(11), 'alive', 'registering again undoes it');
SELECT is((SELECT count(*)::integer FROM camserver.dispatchers), 4, 'without a second row');

SELECT is(camserver.rfc3339('2025-12-31 19:05:00.1239+09'), '2025-12-31T10:05:00.123Z', 'times are written in UTC');
SET LOCAL timezone = 'Asia/Tokyo';
SELECT is(camserver.rfc3339('2025-12-31 19:05:00+09'), '2025-12-31T10:05:00.000Z', 'whatever the session''s zone');
SELECT is(camserver.rfc3339('infinity'), NULL, 'never is not written');
SELECT ok(camserver.schema_version() >= 0, 'schema_version()');

SELECT * FROM finish();
ROLLBACK;
