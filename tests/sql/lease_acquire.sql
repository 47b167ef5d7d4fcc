-- lease_acquire: the budget of the specification, the order of refusals, and that a dead lease blocks nobody.
BEGIN;
SELECT plan(74);

-- The outcome of asking.
CREATE FUNCTION pg_temp.ask(p_user text, p_camera text DEFAULT 't_cam', p_quality text DEFAULT 'sub',
    p_downgrade boolean DEFAULT false, p_id uuid DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT camserver.lease_acquire(p_user, p_camera, p_quality::camserver.stream_quality, p_downgrade,
        p_id)->>'outcome' $$;
-- So much time goes by for the leases of these users.
CREATE FUNCTION pg_temp.later(p_users text, p_sec integer) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.modal_leases SET created_at = created_at - make_interval(secs => p_sec),
        expires_at = expires_at - make_interval(secs => p_sec),
            last_heartbeat = last_heartbeat - make_interval(secs => p_sec)
    WHERE user_id ~ p_users;
    UPDATE camserver.stream_usage SET next_dead_at = least(next_dead_at,
        next_dead_at - make_interval(secs => p_sec)) $$;
CREATE FUNCTION pg_temp.usage(p_server text DEFAULT 'default') RETURNS text LANGUAGE sql AS $$
    SELECT active_modals || '/' || units_used FROM camserver.stream_usage WHERE stream_server_id = p_server $$;

SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.camera_set('t_cam2', '{"stream_url":"wss://other/x"}') \g /dev/null
SELECT camserver.camera_set('t_off', '{"enabled":false}') \g /dev/null

SELECT is((SELECT (total_units, baseline_units, max_ui_users, sub_cost, main_cost)::text FROM camserver.stream_servers
    WHERE stream_server_id = 'default'), '(50,5,10,1,2)', 'the default server has the specified parameters');
SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 'default'), 35,
    'which make a budget of 35');

-- A grant.
CREATE TEMP TABLE first AS SELECT camserver.lease_acquire('u1', 't_cam') AS a;
SELECT is(a->>'outcome', 'GRANTED', 'a lease within the budget is granted') FROM first;
SELECT is(a->>'allowed_quality', 'sub', 'as a sub stream unless asked otherwise') FROM first;
SELECT is(a->>'stream_url', 'wss://camserver/stream/t_cam', 'with the stream URL of the template') FROM first;
SELECT ok((a->>'lease_id')::uuid IS NOT NULL, 'with an id') FROM first;
SELECT matches(a->>'expires_at', '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$',
    'expires_at is RFC 3339 in UTC') FROM first;
SELECT ok((a->>'expires_at')::timestamptz - clock_timestamp() BETWEEN interval '290 s' AND interval '300 s',
    'five minutes from now') FROM first;
SELECT is((a->>'heartbeat_interval_sec', a->>'heartbeat_grace_sec')::text, '(30,45)',
    'and the heartbeat numbers') FROM first;
SELECT is(pg_temp.usage(), '1/1', 'it takes one unit');
SELECT is(camserver.lease_acquire('u2', 't_cam2', 'main')->>'stream_url', 'wss://other/x',
    'a camera may have its own URL');
SELECT is(pg_temp.usage(), '2/3', 'a main stream takes two units');
SELECT is((SELECT quality::text FROM camserver.modal_leases WHERE user_id = 'u2'), 'main', 'and is kept as main');

-- Cameras.
SELECT is(pg_temp.ask('u9', 'none'), 'UNKNOWN_CAMERA', 'an unknown camera is refused');
SELECT is(pg_temp.ask('u9', 't_off'), 'UNKNOWN_CAMERA', 'a disabled camera is as good as unknown');
SELECT is(pg_temp.ask('u1', 'none'), 'UNKNOWN_CAMERA', 'also for somebody who has a lease');

-- One lease a user.
CREATE TEMP TABLE second AS SELECT camserver.lease_acquire('u1', 't_cam2') AS a;
SELECT is(a->>'outcome', 'USER_ALREADY_HAS_MODAL', 'a second lease is refused') FROM second;
SELECT is(a->>'camera_id', 't_cam', 'saying which camera is being watched') FROM second;
SELECT is(second.a->>'lease_id', first.a->>'lease_id', 'by which lease') FROM first, second;
SELECT ok((a->>'retry_after')::integer BETWEEN 290 AND 300, 'and when it ends at the latest') FROM second;
SELECT is(pg_temp.ask('u1', 't_cam'), 'USER_ALREADY_HAS_MODAL', 'also for the same camera');
SELECT is(pg_temp.usage(), '2/3', 'a refusal takes nothing');

-- Asking again for one's own lease.
CREATE TEMP TABLE own AS SELECT camserver.lease_acquire('u3', 't_cam', 'sub', false,
    '11111111-1111-1111-1111-111111111111') AS a;
SELECT is(a->>'lease_id', '11111111-1111-1111-1111-111111111111', 'the caller may choose the id') FROM own;
SELECT is(camserver.lease_acquire('u3', 't_cam', 'sub', false, '11111111-1111-1111-1111-111111111111'), a,
    'asking again with it gives the same answer') FROM own;
SELECT is(pg_temp.usage(), '3/4', 'and takes nothing more');
SELECT is(pg_temp.ask('u3', 't_cam2', 'sub', false, '11111111-1111-1111-1111-111111111111'), 'USER_ALREADY_HAS_MODAL',
    'the same id on another camera is another request');
SELECT is(pg_temp.ask('u4', 't_cam', 'sub', false, '11111111-1111-1111-1111-111111111111'), 'BAD_LEASE_ID',
    'an id that somebody else uses is refused');
SELECT is(pg_temp.usage(), '3/4', 'and takes nothing');
SELECT is(pg_temp.ask('u4'), 'GRANTED', 'with another id it is granted');

-- Up to the budget.
SELECT is((SELECT count(*)::integer FROM generate_series(5, 33) i WHERE pg_temp.ask('u' || i) = 'GRANTED'), 29,
    'leases are granted ...');
SELECT is(pg_temp.usage(), '33/34', '... up to 34 of 35 units');
CREATE TEMP TABLE one_left AS SELECT camserver.lease_acquire('m1', 't_cam', 'main') AS a;
SELECT is(a->>'outcome', 'OVER_CAPACITY', 'a main stream does not fit') FROM one_left;
SELECT is((a->>'units_needed', a->>'units_available', a->>'modal_budget', a->>'modal_usage')::text, '(2,1,35,34)',
    'the refusal has the numbers') FROM one_left;
SELECT ok((a->>'retry_after')::integer BETWEEN 1 AND 30, 'and a time to come back') FROM one_left;
CREATE TEMP TABLE down AS SELECT camserver.lease_acquire('m1', 't_cam', 'main', true) AS a;
SELECT is((a->>'outcome', a->>'allowed_quality')::text, '(GRANTED,sub)',
    'who allows it gets a sub stream instead') FROM down;
SELECT is((SELECT (quality, units)::text FROM camserver.modal_leases WHERE user_id = 'm1'), '(sub,1)',
    'and pays for that');
SELECT is(pg_temp.usage(), '34/35', 'the budget is full');
CREATE TEMP TABLE full_up AS SELECT camserver.lease_acquire('m2', 't_cam', 'main', true) AS a;
SELECT is((a->>'outcome', a->>'units_needed', a->>'units_available')::text, '(OVER_CAPACITY,1,0)',
    'now not even a sub stream fits') FROM full_up;
SELECT is(pg_temp.ask('s9'), 'OVER_CAPACITY', 'nor for anybody else');
SELECT is(pg_temp.ask('u1'), 'USER_ALREADY_HAS_MODAL', 'one lease a user comes before the budget');
SELECT is(pg_temp.ask('u3', 't_cam', 'sub', false, '11111111-1111-1111-1111-111111111111'), 'GRANTED',
    'a full server still repeats its own answer');

-- Overload comes first.
SELECT camserver.stream_server_set('default', '{"host":"h1"}') \g /dev/null
SELECT camserver.health_report(NULL, 'h1', 0, 99, 10, 0, 'overload', true, true, 'cpu') \g /dev/null
CREATE TEMP TABLE busy AS SELECT camserver.lease_acquire('u1', 't_cam') AS a;
SELECT is(a->>'outcome', 'SYSTEM_OVERLOAD', 'overload comes before one lease a user') FROM busy;
SELECT ok((a->>'retry_after')::integer BETWEEN 50 AND 60, 'come back when it can be over at the earliest') FROM busy;
SELECT is((a->>'modal_budget', a->>'modal_usage')::text, '(35,35)', 'with the numbers') FROM busy;
SELECT is(pg_temp.ask('s9'), 'SYSTEM_OVERLOAD', 'overload comes before the budget');
SELECT is(pg_temp.ask('s9', 'none'), 'UNKNOWN_CAMERA', 'an unknown camera is unknown all the same');
SELECT is(pg_temp.ask('u3', 't_cam', 'sub', false, '11111111-1111-1111-1111-111111111111'), 'GRANTED',
    'a lease that is granted stays granted');
UPDATE camserver.system_health SET last_overload_at = last_overload_at - interval '55 s' WHERE host = 'h1';
SELECT is(camserver.lease_acquire('s9', 't_cam')->>'retry_after', '5', 'retry_after counts down to 5 s');
UPDATE camserver.system_health SET last_overload_at = NULL WHERE host = 'h1';
SELECT is(camserver.lease_acquire('s9', 't_cam')->>'retry_after', '5', 'which is also said when the time is unknown');
UPDATE camserver.system_health SET sampled_at = sampled_at - interval '31 s' WHERE host = 'h1';
SELECT is(pg_temp.ask('s9'), 'OVER_CAPACITY', 'a stale sample refuses nothing');
UPDATE camserver.system_health SET sampled_at = clock_timestamp(), overloaded = false,
    level = 'warning' WHERE host = 'h1';
SELECT is(pg_temp.ask('s9'), 'OVER_CAPACITY', 'a warning refuses nothing');

-- For how long a refusal is good: until a lease can be dead, until the overload's sample is stale, a minute at most.
CREATE FUNCTION pg_temp.good_ms() RETURNS integer LANGUAGE sql AS $$ SELECT (camserver.lease_acquire('s9', 't_cam')->>'good_ms')::integer $$;
CREATE TEMP TABLE usage_before AS SELECT * FROM camserver.stream_usage WHERE stream_server_id = 'default';
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp() + interval '7 s' WHERE stream_server_id = 'default';
SELECT ok(pg_temp.good_ms() BETWEEN 5000 AND 7000, 'a refusal is good until a lease can be dead');
UPDATE camserver.stream_usage SET next_dead_at = 'infinity' WHERE stream_server_id = 'default';
SELECT is(pg_temp.good_ms(), 60000, 'but for a minute at most');
UPDATE camserver.stream_usage SET next_dead_at = '-infinity' WHERE stream_server_id = 'default';
SELECT is(pg_temp.ask('s9'), 'OVER_CAPACITY', 'a sweep that finds nobody dead refuses as before');
UPDATE camserver.stream_usage u SET next_dead_at = b.next_dead_at FROM usage_before b WHERE u.stream_server_id = b.stream_server_id;
UPDATE camserver.system_health SET sampled_at = clock_timestamp() - interval '20 s', overloaded = true WHERE host = 'h1';
SELECT ok(pg_temp.good_ms() BETWEEN 8000 AND 10000, 'one for the load until its sample is stale');
UPDATE camserver.system_health SET sampled_at = clock_timestamp(), overloaded = false WHERE host = 'h1';

-- Dead leases. u5 to u33 hold one unit each.
SELECT pg_temp.later('^u5$', 44) \g /dev/null
SELECT is(pg_temp.ask('s9'), 'OVER_CAPACITY', 'a heartbeat 44 s ago is a live lease');
SELECT pg_temp.later('^u5$', 2) \g /dev/null
SELECT is(pg_temp.ask('s9'), 'GRANTED', 'a full server with one dead lease admits');
SELECT is(pg_temp.usage(), '34/35', 'and is full again');
SELECT is((SELECT end_reason FROM camserver.modal_lease_log WHERE user_id = 'u5'), 'heartbeat',
    'the dead one ended for want of a heartbeat');
SELECT is(pg_temp.ask('s10'), 'OVER_CAPACITY', 'only once');
UPDATE camserver.modal_leases SET expires_at = clock_timestamp() WHERE user_id = 'u6';
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp();
SELECT is(pg_temp.ask('s10'), 'GRANTED', 'a lease past its TTL blocks nobody either');
SELECT is((SELECT end_reason FROM camserver.modal_lease_log WHERE user_id = 'u6'), 'ttl', 'it ended by its TTL');
SELECT pg_temp.later('^u7$', 46) \g /dev/null
SELECT is(pg_temp.ask('u7'), 'GRANTED', 'one''s own dead lease does not block on a full server');
SELECT is((SELECT count(*)::integer FROM camserver.modal_lease_log WHERE user_id = 'u7'), 1, 'it is logged');
SELECT is(pg_temp.usage(), '34/35', 'usage stays right');
SELECT pg_temp.later('^u(8|9)$', 46) \g /dev/null
CREATE TEMP TABLE room AS SELECT camserver.lease_acquire('m3', 't_cam', 'main', true) AS a;
SELECT is(a->>'allowed_quality', 'main', 'dead leases are swept before a main stream is made a sub stream') FROM room;
SELECT pg_temp.later('^u10$', 46) \g /dev/null
SELECT is(camserver.lease_acquire('m4', 't_cam', 'main', true)->>'allowed_quality', 'sub',
    'unless even that is not enough');
SELECT is((SELECT (sum(units), count(*))::text FROM camserver.modal_leases), '(35,33)',
    'the leases add up to the budget');
SELECT is(pg_temp.usage(), '33/35', 'and the usage to the leases');

-- One's own dead lease where there is room.
SELECT camserver.lease_release('s9', lease_id) FROM camserver.modal_leases WHERE user_id = 's9' \g /dev/null
SELECT pg_temp.later('^s10$', 301) \g /dev/null
SELECT is(pg_temp.ask('s10'), 'GRANTED', 'one''s own dead lease does not block where there is room');
SELECT is((SELECT end_reason FROM camserver.modal_lease_log WHERE user_id = 's10'), 'ttl',
    'it ended by its TTL, also without heartbeats');
SELECT pg_temp.later('^u3$', 46) \g /dev/null
SELECT is(pg_temp.ask('u3', 't_cam', 'sub', false, '11111111-1111-1111-1111-111111111111'), 'GRANTED',
    'the id of a dead lease may be asked with again');
SELECT ok((SELECT last_heartbeat > clock_timestamp() - interval '5 s' FROM camserver.modal_leases WHERE user_id = 'u3'),
    'which is a new lease');
SELECT is(pg_temp.usage(), (SELECT count(*) || '/' || sum(units) FROM camserver.modal_leases),
    'usage agrees with the leases');

SELECT * FROM finish();
ROLLBACK;
