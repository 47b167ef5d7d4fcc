-- What lease_acquire locks: nothing to refuse, the server's advisory lock to grant.
BEGIN;
SELECT plan(17);

CREATE FUNCTION pg_temp.locks() RETURNS text[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(classid || ':' || objid ORDER BY objid), '{}') FROM pg_locks
    WHERE locktype = 'advisory' AND pid = pg_backend_pid() $$;
CREATE FUNCTION pg_temp.lock_of(p_server text) RETURNS text LANGUAGE sql AS $$
    SELECT camserver.lock_class('stream') || ':' || lock_id FROM camserver.stream_servers WHERE stream_server_id =
        p_server $$;
CREATE FUNCTION pg_temp.ask(p_user text, p_camera text DEFAULT 't_cam') RETURNS text LANGUAGE sql AS $$
    SELECT camserver.lease_acquire(p_user, p_camera)->>'outcome' $$;

SELECT camserver.stream_server_set('t_a', '{"total_units":16,"host":"t_h"}') \g /dev/null
SELECT camserver.stream_server_set('t_b') \g /dev/null
SELECT camserver.camera_set('t_cam', '{"stream_server_id":"t_a"}') \g /dev/null
SELECT camserver.camera_set('t_cam_b', '{"stream_server_id":"t_b"}') \g /dev/null
-- A full server without a grant in this transaction.
INSERT INTO camserver.modal_leases (lease_id, user_id, camera_id, stream_server_id, units, grace_sec, created_at,
    expires_at, last_heartbeat)
    VALUES ('22222222-2222-2222-2222-222222222222', 'w1', 't_cam', 't_a', 1, 45, now(), now() + interval '300 s',
        now());
UPDATE camserver.stream_usage SET units_cap = 1, units_used = 1, active_modals = 1,
    next_dead_at = now() + interval '45 s'
    WHERE stream_server_id = 't_a';

SELECT is(pg_temp.locks(), '{}', 'no advisory lock to begin with');
SELECT is(pg_temp.ask('w2'), 'OVER_CAPACITY', 'a full server refuses');
SELECT is(pg_temp.locks(), '{}', 'and takes no lock for it');
SELECT is(pg_temp.ask('w1'), 'USER_ALREADY_HAS_MODAL', 'so does a second lease');
SELECT is(pg_temp.ask('w2', 'none'), 'UNKNOWN_CAMERA', 'and an unknown camera');
SELECT is(camserver.lease_acquire('w1', 't_cam', 'sub', false, '22222222-2222-2222-2222-222222222222')->>'outcome',
    'GRANTED',
    'and one''s own lease asked for again');
SELECT camserver.health_report(NULL, 't_h', 0, 99, 10, 0, 'overload', true, true, 'cpu') \g /dev/null
SELECT is(pg_temp.ask('w2'), 'SYSTEM_OVERLOAD', 'and an overload');
SELECT camserver.health_report(NULL, 't_h', 1, 9, 10, 0, 'normal', false, false, NULL) \g /dev/null
SELECT is(pg_temp.locks(), '{}', 'none of them takes a lock');
SELECT is(camserver.lease_heartbeat('w1', '22222222-2222-2222-2222-222222222222')->>'outcome', 'OK',
    'a heartbeat is accepted');
SELECT is(pg_temp.locks(), '{}', 'without a lock on the server');
SELECT camserver.system_status('user:x'), camserver.suggest_get('user:x') \g /dev/null
SELECT is(pg_temp.locks(), '{}', 'status and suggestion are read without one');

SELECT is(pg_temp.ask('w3', 't_cam_b'), 'GRANTED', 'a grant');
SELECT is(pg_temp.locks(), ARRAY[pg_temp.lock_of('t_b')], 'takes exactly its server''s lock');
SELECT is(camserver.lease_release('w1', '22222222-2222-2222-2222-222222222222')->>'outcome', 'OK', 'a release');
SELECT is(pg_temp.locks(), ARRAY[pg_temp.lock_of('t_a'), pg_temp.lock_of('t_b')], 'takes its server''s lock');
SELECT isnt(pg_temp.lock_of('t_a'), pg_temp.lock_of('t_b'), 'each server has its own');
SELECT isnt(camserver.lock_class('stream'), camserver.lock_class('suggest'), 'each purpose has its own class');

SELECT * FROM finish();
ROLLBACK;
