-- spool_expired, spool_removed: which images may go.
BEGIN;
SELECT plan(8);
SELECT camserver.camera_set('t_cam') \g /dev/null
INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyzed, analyzed_at, detected)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 't_cam', now() - age, now() - age, 1, a, now() - age, d
FROM (VALUES (1, true, interval '2 hours', false), (2, true, '61 minutes', false), (3, true, '59 minutes', false),
             (4, true, '2 hours', true), (5, false, '2 hours', NULL)) AS v (n, a, age, d);
CREATE TEMP TABLE expired AS SELECT right(u::text, 1) AS n FROM camserver.spool_expired(10) u;
SELECT results_eq('SELECT n FROM expired', ARRAY['1', '2'], 'analysed, nothing detected, an hour ago: oldest first');
SELECT is((SELECT count(*) FROM camserver.spool_expired(1)), 1::bigint, 'no more than asked for');
SELECT is((SELECT count(*) FROM camserver.spool_expired(10)), 2::bigint, 'asking changes nothing');
SELECT is(camserver.spool_removed('{00000000-0000-0000-0000-000000000001}'), 1, 'one is gone');
SELECT is(camserver.spool_removed('{00000000-0000-0000-0000-000000000001}'), 0, 'once');
SELECT is((SELECT right(u::text, 1) FROM camserver.spool_expired(10) u), '2', 'the other is left');
SELECT camserver.setting_set('keep_undetected_sec', '60') \g /dev/null
SELECT is((SELECT count(*) FROM camserver.spool_expired(10)), 2::bigint, 'the time is a setting');
SELECT is(camserver.spool_removed('{}'), 0, 'none is no error');
SELECT * FROM finish();
ROLLBACK;
