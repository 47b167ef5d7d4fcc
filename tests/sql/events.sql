-- event_apply, event_match, event_close_stale: how detections become events, in order and out of order.
BEGIN;
SELECT plan(84);

DELETE FROM camserver.events;
SELECT camserver.camera_set('t_cam'), camserver.camera_set('t_cam2') \g /dev/null
-- Times are seconds from a moment an hour ago.
CREATE FUNCTION pg_temp.at(p_sec numeric) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT now() - interval '1 h' + p_sec * interval '1 s' $$;
CREATE FUNCTION pg_temp.sec(p_at timestamptz) RETURNS numeric LANGUAGE sql AS $$
    SELECT trim_scale(round(extract(epoch FROM p_at - (now() - interval '1 h')), 3)) $$;
-- A detection; events have numbers in the order in which they were made.
CREATE FUNCTION pg_temp.see(p_sec numeric, p_kind text DEFAULT 'human', p_camera text DEFAULT 't_cam',
    p_severity integer DEFAULT 1, p_confidence real DEFAULT 0.5, p_score float8 DEFAULT 1050,
    p_retention text DEFAULT 'normal', p_reason text DEFAULT 'r', p_frame bigint DEFAULT 1) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    v_event bigint := camserver.event_apply(p_camera, p_frame, pg_temp.at(p_sec), p_kind, p_severity::smallint,
        p_confidence, p_score, p_retention::camserver.retention_class, p_reason,
        make_interval(secs => camserver.setting_number('event_merge_gap_sec')::float8));
BEGIN
    RETURN (SELECT count(*) FROM camserver.events WHERE event_id <= v_event);
END $$;
-- All of a camera's events: kind[start-last_seen]count, and how it was closed.
CREATE FUNCTION pg_temp.events(p_camera text DEFAULT 't_cam') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(primary_event || '[' || pg_temp.sec(start_at) || '-' || pg_temp.sec(last_seen_at) || ']'
        || frame_count || CASE state WHEN 'open' THEN ' open' ELSE ' ' || close_reason
            || CASE WHEN end_at = last_seen_at THEN '' ELSE ' ends ' || pg_temp.sec(end_at) END END,
            ', ' ORDER BY event_id)
    FROM camserver.events WHERE camera_id = p_camera $$;
CREATE FUNCTION pg_temp.clear() RETURNS void LANGUAGE sql AS $$ DELETE FROM camserver.events $$;

-- Open, merge, gap, changed.
SELECT is(pg_temp.see(0), 1, 'a first detection opens an event');
SELECT is(pg_temp.events(), 'human[0-0]1 open', 'from then till then');
SELECT is(pg_temp.see(10), 1, 'the next of the same kind is merged');
SELECT is(pg_temp.events(), 'human[0-10]2 open', 'and seen last');
SELECT is(pg_temp.see(100), 1, 'after exactly 90 s it is merged');
SELECT is(pg_temp.see(190.001), 2, 'after 90.001 s it is not');
SELECT is(pg_temp.events(), 'human[0-100]3 gap, human[190.001-190.001]1 open', 'the gap closes the first');
SELECT is(pg_temp.see(200, 'animal'), 3, 'another kind is another event');
SELECT is(pg_temp.events(), 'human[0-100]3 gap, human[190.001-190.001]1 changed, animal[200-200]1 open',
    'which closes the open one');
SELECT is(pg_temp.see(400, 'vehicle'), 4, 'another kind long after');
SELECT is(pg_temp.events(), 'human[0-100]3 gap, human[190.001-190.001]1 changed, animal[200-200]1 gap, '
    'vehicle[400-400]1 open', 'is a gap first of all');
SELECT is(pg_temp.see(410), 5, 'a kind that was there before');
SELECT is(pg_temp.see(420, 'vehicle'), 6, 'alternating makes an event each time');
SELECT is(pg_temp.see(401, 'human', 't_cam2'), 7, 'another camera');
SELECT is(pg_temp.events('t_cam2'), 'human[401-401]1 open', 'has events of its own');
SELECT is((SELECT count(*)::integer FROM camserver.events WHERE camera_id = 't_cam' AND state = 'open'), 1,
    'one at most is open');
SELECT throws_ok($$UPDATE camserver.events SET state = 'open', end_at = NULL, close_reason = NULL
    WHERE camera_id = 't_cam'$$, '23505', NULL, 'two cannot be');
SELECT pg_temp.clear(), pg_temp.see(0), pg_temp.see(50, 'animal') \g /dev/null
SELECT is(pg_temp.see(50, 'vehicle'), 3, 'another kind at the very same moment');
SELECT is(pg_temp.events(), 'human[0-0]1 changed, animal[50-50]1 changed, vehicle[50-50]1 open', 'is the newer one');
SELECT is(pg_temp.see(50, 'vehicle'), 3, 'the same kind at the same moment is merged');

-- What an event keeps.
SELECT pg_temp.clear(), pg_temp.see(0, p_severity => 1, p_confidence => 0.5, p_score => 1050, p_retention => 'normal',
    p_reason => 'detected', p_frame => 11) \g /dev/null
CREATE FUNCTION pg_temp.kept() RETURNS text LANGUAGE sql AS $$ SELECT (severity_max, confidence_max, best_frame_id,
    best_score,
    retention_class, retention_reason)::text FROM camserver.events $$;
SELECT is(pg_temp.kept(), '(1,0.5,11,1050,normal,detected)',
    'severity, confidence, best frame and retention of the first');
SELECT ok((SELECT event_uuid IS NOT NULL AND created_at >= now() AND updated_at = created_at AND end_at IS NULL
    FROM camserver.events), 'a uuid and times');
SELECT pg_temp.see(1, p_severity => 0, p_confidence => 0.9, p_score => 90, p_frame => 12) \g /dev/null
SELECT is(pg_temp.kept(), '(1,0.9,11,1050,normal,detected)', 'a weaker one raises only its confidence');
SELECT pg_temp.see(2, p_severity => 2, p_confidence => 0.1, p_score => 2010, p_retention => 'quarantine', p_reason =>
    'severity', p_frame => 13) \g /dev/null
SELECT is(pg_temp.kept(), '(2,0.9,13,2010,quarantine,severity)', 'a stronger one is the best, with its retention');
SELECT pg_temp.see(3, p_severity => 2, p_confidence => 0.1, p_score => 2010, p_retention => 'quarantine', p_reason =>
    'hazard', p_frame => 14) \g /dev/null
SELECT is(pg_temp.kept(), '(2,0.9,13,2010,quarantine,severity)', 'an equal one is not better');
SELECT pg_temp.see(4, p_retention => 'normal', p_reason => 'detected', p_frame => 15) \g /dev/null
SELECT is(pg_temp.kept(), '(2,0.9,13,2010,quarantine,severity)', 'retention never weakens');
SELECT pg_temp.see(5, p_retention => 'case', p_reason => 'case', p_confidence => NULL, p_score => NULL, p_frame => 16)
    \g /dev/null
SELECT is(pg_temp.kept(), '(2,0.9,13,2010,case,case)', 'what is not known changes nothing');
SELECT is((SELECT frame_count FROM camserver.events), 6, 'every frame is counted');
SELECT ok((SELECT updated_at > created_at FROM camserver.events), 'and each is an update');
SELECT pg_temp.clear(), pg_temp.see(0, p_confidence => NULL, p_score => NULL, p_frame => 21),
    pg_temp.see(1, p_confidence => 0.5, p_score => -3, p_frame => 22) \g /dev/null
SELECT is(pg_temp.kept(), '(1,0.5,22,-3,normal,r)', 'any known score is better than none');
SELECT pg_temp.see(0.5, p_score => -2, p_frame => 23) \g /dev/null
SELECT is((SELECT best_frame_id FROM camserver.events), 23::bigint, 'a late frame may be the best');

-- Late ones of the open event's kind.
SELECT pg_temp.clear(), pg_temp.see(1000), pg_temp.see(1050) \g /dev/null
SELECT is(pg_temp.see(1020), 1, 'late, within the open event');
SELECT is(pg_temp.events(), 'human[1000-1050]3 open', 'it shortens nothing');
SELECT is(pg_temp.see(910), 1, 'late, exactly 90 s before its start');
SELECT is(pg_temp.events(), 'human[910-1050]4 open', 'it starts earlier');
SELECT is(pg_temp.see(819.999), 2, 'late, 90.001 s before its start');
SELECT is(pg_temp.events(), 'human[910-1050]4 open, human[819.999-819.999]1 gap', 'it is an event of its own, closed');
SELECT is(pg_temp.see(1060), 1, 'the open event goes on');
SELECT is(pg_temp.see(100), 3, 'long before');
SELECT is(pg_temp.events(), 'human[910-1060]5 open, human[819.999-819.999]1 gap, human[100-100]1 gap',
    'it is an event of its own, closed');
SELECT is(pg_temp.see(90), 3, 'another one a little before that');
SELECT is(pg_temp.events(), 'human[910-1060]5 open, human[819.999-819.999]1 gap, human[90-100]2 gap',
    'is merged with it');
SELECT is(pg_temp.see(95), 3, 'and one within it');
SELECT is(pg_temp.see(110), 3, 'and one a little after it');
SELECT is(pg_temp.events(), 'human[910-1060]5 open, human[819.999-819.999]1 gap, human[90-110]4 gap',
    'there is no gap between them');

-- A camera was away and sends what it kept, in order, while it also sends what it sees now.
SELECT pg_temp.clear(), pg_temp.see(1000) \g /dev/null
SELECT pg_temp.see(100 + 10 * i), pg_temp.see(1000 + 10 * i) FROM generate_series(0, 20) i ORDER BY i \g /dev/null
SELECT is(pg_temp.events(), 'human[1000-1200]22 open, human[100-300]21 gap',
    'what it kept is one event, not one a frame');
SELECT is(pg_temp.see(391), 3, 'after a gap it is another');
SELECT is(pg_temp.see(481), 3, 'to which the next belong');

-- Late ones of another kind.
SELECT pg_temp.clear(), pg_temp.see(1000), pg_temp.see(1050) \g /dev/null
SELECT is(pg_temp.see(1020, 'animal'), 2, 'late and of another kind');
SELECT is(pg_temp.events(), 'human[1000-1050]2 open, animal[1020-1020]1 changed', 'it is an event of its own, closed');
SELECT is(pg_temp.see(1010, 'animal'), 2, 'one a little before it');
SELECT is(pg_temp.see(1030, 'animal'), 2, 'and one a little after it');
SELECT is(pg_temp.events(), 'human[1000-1050]2 open, animal[1010-1030]3 changed', 'belong to the same');
SELECT is(pg_temp.see(1060), 1, 'the open event goes on');
SELECT is(pg_temp.see(500, 'vehicle'), 3, 'late, of another kind, and long before');
SELECT is(pg_temp.events(), 'human[1000-1060]3 open, animal[1010-1030]3 changed, vehicle[500-500]1 gap',
    'it is an event of its own, closed');

-- Late ones for an event that another kind closed.
SELECT pg_temp.clear(), pg_temp.see(0), pg_temp.see(20), pg_temp.see(40, 'animal') \g /dev/null
SELECT is(pg_temp.see(10), 1, 'late, within an event that is closed');
SELECT is(pg_temp.events(), 'human[0-20]3 changed, animal[40-40]1 open', 'it belongs to that');
SELECT is(pg_temp.see(30), 1, 'late, between its end and the other''s start');
SELECT is(pg_temp.events(), 'human[0-30]4 changed, animal[40-40]1 open', 'also');
SELECT is(pg_temp.see(45, 'animal'), 2, 'the open event goes on');
SELECT is(pg_temp.see(44), 3, 'late, but after the other''s start');
SELECT is(pg_temp.events(), 'human[0-30]4 changed, animal[40-45]2 open, human[44-44]1 changed',
    'it is an event of its own: what came between stays between');

-- Late ones for an event that was closed for lack of detections.
SELECT pg_temp.clear(), pg_temp.see(0), pg_temp.see(20) \g /dev/null
SELECT is(camserver.event_close_stale()->>'count', '1', 'closed as stale');
SELECT is(pg_temp.see(110), 1, 'late, within the gap of its end');
SELECT is(pg_temp.events(), 'human[0-110]3 stale', 'it makes it longer');
SELECT is(pg_temp.see(-90), 1, 'late, within the gap of its start');
SELECT is(pg_temp.see(50), 1, 'late, within');
SELECT is(pg_temp.events(), 'human[-90-110]5 stale', 'it makes it longer, and it stays closed');
SELECT is(pg_temp.see(200.001), 2, 'beyond the gap');
SELECT is(pg_temp.events(), 'human[-90-110]5 stale, human[200.001-200.001]1 open', 'a new one is opened');
SELECT is(pg_temp.see(60), 1, 'late, while another is open');
SELECT is(pg_temp.see(115), 2, 'one that fits both belongs to the open one');
SELECT pg_temp.clear(), pg_temp.see(0), camserver.event_close_stale() \g /dev/null
SELECT is(pg_temp.see(20, 'animal'), 2, 'another kind opens an event after a stale one');
SELECT is(pg_temp.events(), 'human[0-0]1 stale, animal[20-20]1 open', 'as usual');

-- Stale.
SELECT pg_temp.clear(), pg_temp.see(0), pg_temp.see(0, p_camera => 't_cam2') \g /dev/null
CREATE FUNCTION pg_temp.last_seen(p_camera text, p_ago interval) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.events SET last_seen_at = clock_timestamp() - p_ago WHERE camera_id = p_camera AND state = 'open'
    $$;
SELECT pg_temp.last_seen('t_cam', '119 s'), pg_temp.last_seen('t_cam2', '120.1 s') \g /dev/null
SELECT is(camserver.event_close_stale(), '{"count":1,"more":false}', '120 s without a detection');
SELECT is((SELECT array_agg((state, close_reason, end_at = last_seen_at)::text ORDER BY camera_id) FROM
    camserver.events),
    ARRAY['(open,,)', '(closed,stale,t)'], 'close an event as of the last one');
SELECT ok((SELECT updated_at > created_at FROM camserver.events WHERE camera_id = 't_cam2'), 'which is an update');
SELECT is(camserver.event_close_stale(), '{"count":0,"more":false}', 'once');
SELECT camserver.setting_set('event_close_grace_sec', '100') \g /dev/null
UPDATE camserver.sweeps SET next_run_at = CASE name WHEN 'events' THEN '-infinity' ELSE 'infinity' END::timestamptz;
SELECT is(camserver.sweep_run(), '{"name":"events","count":1,"more":false}',
    'the grace is a setting; the sweep is "events"');
SELECT ok((SELECT next_run_at <= clock_timestamp() + interval '5 s' FROM camserver.sweeps WHERE name = 'events'),
    'every 5 s');
SELECT camserver.setting_set('event_merge_gap_sec', '5') \g /dev/null
SELECT pg_temp.clear(), pg_temp.see(0), pg_temp.see(5), pg_temp.see(10.001) \g /dev/null
SELECT is(pg_temp.events(), 'human[0-5]2 gap, human[10.001-10.001]1 open', 'the gap is a setting, too');
SELECT pg_temp.clear() \g /dev/null
SELECT camserver.camera_set('t_many' || i), pg_temp.see(0, p_camera => 't_many' || i) FROM generate_series(1, 1200) i
    \g /dev/null
SELECT is((SELECT array_agg(camserver.event_close_stale()) FROM generate_series(1, 2)),
    ARRAY['{"count":1000,"more":true}', '{"count":200,"more":false}']::jsonb[], 'a thousand at a time');

-- A camera's history does not make its detections slower.
SELECT pg_temp.clear() \g /dev/null
INSERT INTO camserver.events (camera_id, start_at, last_seen_at, end_at, state, close_reason, primary_event,
    severity_max,
    retention_class, created_at, updated_at)
    SELECT 't_cam', pg_temp.at(-1000 * i), pg_temp.at(-1000 * i + 10), pg_temp.at(-1000 * i + 10), 'closed', 'stale',
    'human',
        1, 'normal', now(), now() FROM generate_series(1, 5000) i;
ANALYZE camserver.events;
DISCARD PLANS;
CREATE FUNCTION pg_temp.tuples_read() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relid =
    'camserver.events'::regclass $$;
CREATE TEMP TABLE read_before AS SELECT pg_temp.tuples_read() AS n;
DO $$ BEGIN
    PERFORM camserver.event_apply('t_cam', 1, pg_temp.at(0), 'human', 1::smallint, 0.5, 1, 'normal', 'r', '90 s');
END $$;
SELECT cmp_ok(pg_temp.tuples_read() - n, '<', 100::bigint, 'opening an event does not read 5000 old ones') FROM
    read_before;

SELECT * FROM finish();
ROLLBACK;
