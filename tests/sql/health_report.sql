-- health_report: compare-and-set on seq, so that one host has one state whoever samples it.
BEGIN;
SELECT plan(24);

CREATE FUNCTION pg_temp.report(p_seq bigint, p_cpu numeric, p_level text,
    p_tripped boolean DEFAULT false) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.health_report('00000000-0000-0000-0000-00000000000d', 't_h', p_seq, p_cpu, 50, 1, p_level,
        p_level = 'overload',
        p_tripped, 'why') $$;

CREATE TEMP TABLE fresh AS SELECT camserver.health_report(NULL, 't_h') AS a;
SELECT is(a - 'thresholds', '{"accepted":false,"seq":0,"overloaded":false,"since_overload_sec":null}',
    'an unknown host starts at 0') FROM fresh;
SELECT is(a->'thresholds',
    '{"overload_cpu_percent":85,"overload_memory_percent":90,"overload_swap_mb":100,"recover_cpu_percent":60,
    "recover_memory_percent":70,"recover_swap_mb":50,"recover_hold_sec":60,
    "warning_cpu_percent":70,"warning_memory_percent":75,"warning_swap_mb":50}',
    'with the specified thresholds') FROM fresh;
SELECT is((SELECT count(*)::integer FROM camserver.system_health WHERE host = 't_h'), 0, 'reading writes nothing');

SELECT is(pg_temp.report(0, 10, 'normal') - 'thresholds',
    '{"accepted":true,"seq":1,"overloaded":false,"since_overload_sec":null}', 'the first report');
SELECT is((SELECT (seq, sampled_by, cpu_percent, memory_percent, swap_mb, level, overloaded,
    reason)::text FROM camserver.system_health WHERE host = 't_h'),
    '(1,00000000-0000-0000-0000-00000000000d,10.00,50.00,1.0,normal,f,why)', 'is kept');
SELECT is(pg_temp.report(0, 99, 'overload', true) - 'thresholds',
    '{"accepted":false,"seq":1,"overloaded":false,"since_overload_sec":null}',
    'a second one from the same state is not');
SELECT is((SELECT (seq, cpu_percent, level)::text FROM camserver.system_health WHERE host = 't_h'), '(1,10.00,normal)',
    'and changes nothing');
SELECT is(pg_temp.report(7, 99, 'overload', true)->>'accepted', 'false', 'nor is one from the future');

CREATE TEMP TABLE trip AS SELECT pg_temp.report(1, 99, 'overload', true) AS a;
SELECT is((a->>'accepted', a->>'seq', a->>'overloaded')::text, '(true,2,true)', 'a trip') FROM trip;
SELECT ok((a->>'since_overload_sec')::numeric BETWEEN 0 AND 1, 'was just now') FROM trip;
UPDATE camserver.system_health SET last_overload_at = last_overload_at - interval '30 s' WHERE host = 't_h';
SELECT ok((pg_temp.report(2, 50, 'overload', false)->>'since_overload_sec')::numeric BETWEEN 30 AND 32,
    'a calmer sample leaves the time of the trip');
SELECT ok((pg_temp.report(3, 99, 'overload', true)->>'since_overload_sec')::numeric < 1, 'the next trip is a new one');
UPDATE camserver.system_health SET last_overload_at = last_overload_at - interval '70 s' WHERE host = 't_h';
SELECT is((a->>'accepted', a->>'seq', a->>'overloaded')::text, '(true,5,false)', 'the way back') FROM pg_temp.report(4,
    20, 'normal') a;
SELECT ok((camserver.health_report(NULL, 't_h')->>'since_overload_sec')::numeric > 70, 'the last trip is remembered');
SELECT ok((SELECT sampled_at > clock_timestamp() - interval '5 s' FROM camserver.system_health WHERE host = 't_h'),
    'samples carry the database''s time');

SELECT camserver.setting_set('overload_cpu_percent', '80.5') \g /dev/null
SELECT is(camserver.health_report(NULL, 't_h')->'thresholds'->>'overload_cpu_percent', '80.5',
    'a changed threshold is in the next answer');
SELECT is(camserver.health_report(NULL, 't_h2')->>'seq', '0', 'each host has its own state');
SELECT throws_ok($$SELECT camserver.health_report(NULL, 't_h', 5, 1, 1, 1, 'fine', false, false)$$, '23514', NULL,
    'levels are known words');

-- Only a fresh overload refuses.
SELECT camserver.stream_server_set('t_a', '{"host":"t_h"}') \g /dev/null
SELECT camserver.camera_set('t_cam', '{"stream_server_id":"t_a"}') \g /dev/null
SELECT is((pg_temp.report(5, 99, 'overload', true)->>'accepted')::boolean, true, 'an overload');
SELECT is(camserver.lease_acquire('u1', 't_cam')->>'outcome', 'SYSTEM_OVERLOAD', 'refuses');
UPDATE camserver.system_health SET sampled_at = clock_timestamp() - interval '29 s' WHERE host = 't_h';
SELECT is(camserver.lease_acquire('u1', 't_cam')->>'outcome', 'SYSTEM_OVERLOAD', 'for as long as its sample is fresh');
UPDATE camserver.system_health SET sampled_at = clock_timestamp() - interval '31 s' WHERE host = 't_h';
SELECT is(camserver.lease_acquire('u1', 't_cam')->>'outcome', 'GRANTED', 'a stale one refuses nothing');
SELECT camserver.setting_set('health_stale_sec', '60') \g /dev/null
SELECT is(camserver.lease_acquire('u2', 't_cam')->>'outcome', 'SYSTEM_OVERLOAD', 'stale is what the setting says');
UPDATE camserver.stream_servers SET host = NULL WHERE stream_server_id = 't_a';
SELECT is(camserver.lease_acquire('u2', 't_cam')->>'outcome', 'GRANTED', 'a server without a host has no overload');

SELECT * FROM finish();
ROLLBACK;
