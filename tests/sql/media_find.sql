-- media_find: where an image lies, by what is known of the spool and the archive.
BEGIN;
SELECT plan(9);
SELECT camserver.camera_set('t_cam') \g /dev/null
INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 't_cam', now(), now(), 1 FROM generate_series(1, 2) n;
CREATE FUNCTION pg_temp.find(p_n integer) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.media_find(('00000000-0000-0000-0000-00000000000' || p_n)::uuid) $$;

SELECT is(pg_temp.find(9), '{"outcome": "UNKNOWN_FRAME"}', 'no such frame');
SELECT is(camserver.media_find(NULL), '{"outcome": "UNKNOWN_FRAME"}', 'no frame at all');
SELECT is(pg_temp.find(1), '{"outcome": "OK", "spooled": true, "driver": null, "path": null, "bytes": null}',
    'a frame that came in is in the spool');
INSERT INTO camserver.archive_objects (frame_id, driver, path, bytes, sha256, archived_at)
SELECT frame_id, 'dir', 'a/b.jpg', 7, repeat('0', 64), now() FROM camserver.frames WHERE frame_uuid::text LIKE '%1';
SELECT is(pg_temp.find(1), '{"outcome": "OK", "spooled": true, "driver": "dir", "path": "a/b.jpg", "bytes": 7}',
    'archived, it is in both');
SELECT is(pg_temp.find(2)->'driver', 'null', 'the other frame is not');
UPDATE camserver.archive_objects SET spooled = false;
SELECT is(pg_temp.find(1)->'spooled', 'false', 'then only in the archive');
UPDATE camserver.archive_objects SET spooled = true;
UPDATE camserver.frames SET image_removed_at = now();
SELECT is(pg_temp.find(1)->'spooled', 'false', 'as one that was removed from the spool');
UPDATE camserver.archive_objects SET removed_at = now();
SELECT is(pg_temp.find(1), '{"outcome": "OK", "spooled": false, "driver": null, "path": null, "bytes": null}',
    'removed from the archive too, it is nowhere');
SELECT is(pg_temp.find(2), '{"outcome": "OK", "spooled": false, "driver": null, "path": null, "bytes": null}',
    'as one that never was there');
SELECT * FROM finish();
ROLLBACK;
