-- spool_expire: which images may go, and that they are gone with the asking.
BEGIN;
SELECT plan(12);
SELECT camserver.camera_set('t_cam') \g /dev/null
INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyzed, analyzed_at, detected, retention_class)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 't_cam', now() - age, now() - age, 1, a, now() - age, d, c::camserver.retention_class
FROM (VALUES (1, true, interval '2 hours', false, 'normal'), (2, true, '61 minutes', false, 'normal'), (3, true, '59 minutes', false, 'normal'),
             (4, true, '2 hours', true, 'normal'), (5, false, '2 hours', NULL, 'normal'), (6, true, '15 days', true, 'normal'),
             (7, true, '61 days', true, 'case'), (8, true, '61 days', true, 'case')) AS v (n, a, age, d, c);
INSERT INTO camserver.archive_objects (frame_id, driver, path, bytes, sha256, archived_at)
SELECT frame_id, 'dir', 'p', 1, repeat('0', 64), now() - interval '25 hours' FROM camserver.frames WHERE frame_uuid::text LIKE '%0008';
CREATE FUNCTION pg_temp.expire(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(right(u::text, 1), ' ' ORDER BY u) FROM camserver.spool_expire(p_n) u $$;
CREATE FUNCTION pg_temp.left_over() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(right(frame_uuid::text, 1), ' ' ORDER BY frame_uuid) FROM camserver.frames WHERE image_removed_at IS NULL AND camera_id = 't_cam' $$;

SELECT camserver.setting_set('expire_budget_ms', '1000') \g /dev/null
SELECT is((SELECT count(*)::integer FROM camserver.spool_unknown(ARRAY(SELECT frame_uuid FROM camserver.frames))), 0, 'all images are somebody''s');
SELECT is(length(pg_temp.expire(1)), 1, 'no more than asked for');
SELECT is(length(pg_temp.left_over()), 13, 'which is gone with that');
SELECT pg_temp.expire(10) \g /dev/null
SELECT is(pg_temp.left_over(), '3 4 5 7',
    'analysed with nothing detected, an hour ago; archived, a day ago; normal, 14 days ago; a case stays unless it is archived');
SELECT is(pg_temp.expire(10), NULL, 'once');
SELECT is((SELECT string_agg(right(u::text, 1), ' ' ORDER BY u) FROM camserver.spool_unknown(ARRAY(SELECT frame_uuid FROM camserver.frames)) u),
    '1 2 6 8', 'a file that stays is nobody''s image');
SELECT is((SELECT count(*)::integer FROM camserver.archive_objects WHERE spooled), 0, 'what is archived is in the archive alone');
SELECT camserver.setting_set('keep_undetected_sec', '60') \g /dev/null
SELECT is(pg_temp.expire(10), '3', 'the time is a setting');

-- Without any time a call takes one slice, but it takes one.
UPDATE camserver.frames SET image_removed_at = NULL WHERE frame_uuid::text ~ '[123]$';
SELECT camserver.setting_set('expire_budget_ms', '0'), camserver.setting_set('expire_slice_rows', '2') \g /dev/null
SELECT is(pg_temp.expire(10), '1 2', 'the oldest first');
SELECT is(pg_temp.expire(10), '3', 'then the rest');
SELECT is(pg_temp.expire(10), NULL, 'until none is left');
SELECT is(pg_temp.expire(0), NULL, 'none is no error');
SELECT * FROM finish();
ROLLBACK;
