-- Worker pools: grants, waits and refusals; starts that are joined, capped, learned from and given up; what time does;
-- rows against reality; and that a worker's state changes only as it may.
BEGIN;
SELECT plan(101);

\set h1 '''00000000-0000-0000-0000-0000000000a1'''
\set h2 '''00000000-0000-0000-0000-0000000000a2'''
\set m1 '''00000000-0000-0000-0000-0000000000b1'''
\set m2 '''00000000-0000-0000-0000-0000000000b2'''
DELETE FROM camserver.managers;

-- An answer is kept under a name.
CREATE TEMP TABLE said (name text PRIMARY KEY, a jsonb);
CREATE FUNCTION pg_temp.say(p_name text, p_answer jsonb) RETURNS text LANGUAGE sql AS $$
    INSERT INTO said VALUES (p_name, p_answer) ON CONFLICT (name) DO UPDATE SET a = excluded.a
    RETURNING concat_ws(' ', a->>'outcome', a->>'error_code') $$;
CREATE FUNCTION pg_temp.ask(p_name text, p_pool text DEFAULT 'p', p_holder uuid DEFAULT '00000000-0000-0000-0000-0000000000a1',
    p_ms integer DEFAULT 60000) RETURNS text LANGUAGE sql AS $$
    SELECT pg_temp.say(p_name, camserver.worker_acquire(p_pool, p_holder, p_ms)) $$;
CREATE FUNCTION pg_temp.poll(p_name text, p_holder uuid DEFAULT '00000000-0000-0000-0000-0000000000a1') RETURNS text
LANGUAGE sql AS $$
    SELECT pg_temp.say(p_name, camserver.worker_poll(p_holder, ARRAY[(a->>'ticket')::uuid])->0) FROM said WHERE name = p_name $$;
CREATE FUNCTION pg_temp.release(p_name text, p_holder uuid DEFAULT '00000000-0000-0000-0000-0000000000a1') RETURNS text
LANGUAGE sql AS $$
    SELECT camserver.worker_release(p_holder, (a->>'worker_id')::uuid, (a->>'token')::bigint)->>'outcome' FROM said
    WHERE name = p_name $$;
CREATE FUNCTION pg_temp.evict(p_name text) RETURNS text LANGUAGE sql AS $$
    SELECT camserver.worker_evict('00000000-0000-0000-0000-0000000000a1', (a->>'worker_id')::uuid, (a->>'token')::bigint,
        'because')->>'outcome' FROM said WHERE name = p_name $$;
-- The manager looks, with everything running that it was given; how many it is to start.
CREATE FUNCTION pg_temp.sync(p_name text DEFAULT 'sync', p_may_start boolean DEFAULT true) RETURNS integer LANGUAGE sql AS $$
    SELECT pg_temp.say(p_name, camserver.manager_sync('00000000-0000-0000-0000-0000000000b1', ARRAY(SELECT worker_id
        FROM camserver.workers WHERE host = 'h1' AND state <> 'gone'), p_may_start));
    SELECT jsonb_array_length(a->'start') FROM said WHERE name = p_name $$;
-- All that are being started are ready.
CREATE FUNCTION pg_temp.ready(p_ms float8 DEFAULT 100) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM (SELECT camserver.worker_ready('00000000-0000-0000-0000-0000000000b1', worker_id, token, '127.0.0.1',
        1000 + row_number() OVER ()::integer, p_ms) AS r FROM camserver.workers WHERE state = 'starting' AND host = 'h1') x
    WHERE r->>'outcome' = 'OK' $$;
CREATE FUNCTION pg_temp.states(p_pool text DEFAULT 'p') RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(n || ' ' || state, ', ' ORDER BY state), 'none') FROM (SELECT state, count(*) AS n
        FROM camserver.workers WHERE pool = p_pool AND state <> 'gone' GROUP BY state) x $$;
CREATE FUNCTION pg_temp.fresh(p_changes jsonb) RETURNS void LANGUAGE sql AS $$
    DELETE FROM camserver.pools;
    SELECT camserver.pool_set('p', '{"command": "x"}'::jsonb || p_changes) $$;

-- Defaults.
SELECT is(camserver.pool_set('p', '{"command": "run me  now"}'), true, 'a pool is made');
SELECT is((SELECT (max_capacity, min_idle, idle_timeout_sec, acquire_timeout_sec, draining)::text FROM camserver.pools
    WHERE name = 'p'), '(50,0,300,,f)', 'capacity 50, idle 300 s, the caller''s time-out');
SELECT is((SELECT command FROM camserver.pools WHERE name = 'p'), '{run,me,now}', 'a command is words');
SELECT is(camserver.pool_set('p', '{"max_capacity": 2, "command": "[\"a b\", \"c\"]", "environment": "{\"A\": \"1\"}"}'), false,
    'a pool is changed');
SELECT is((SELECT (command, environment)::text FROM camserver.pools WHERE name = 'p'), '("{""a b"",c}","{""A"": ""1""}")',
    'also by JSON in a text');
SELECT throws_ok($$SELECT camserver.pool_set('p', '{"colour": "red"}')$$, '42703', NULL, 'an unknown property is an error');
SELECT throws_ok($$SELECT camserver.pool_set('q', '{}')$$, '23514', NULL, 'a pool needs something to run');
SELECT throws_ok($$SELECT camserver.pool_set('q r', '{"command": "x"}')$$, '23514', NULL, 'and a proper name');
SELECT camserver.pool_set('d', '{"image": "i:1"}') \g /dev/null
SELECT is((SELECT driver FROM camserver.pools WHERE name = 'd'), 'docker', 'an image makes it a docker pool');
SELECT is((SELECT string_agg(k, ',' ORDER BY k) FROM jsonb_object_keys(camserver.pool_list('p')->'pool') k WHERE k ~ 'lock|creat'),
    NULL, 'the API does not show what is internal');
SELECT is(camserver.pool_list('p')->'pool'->'environment', '["A"]', 'nor the values of the environment');
SELECT is(camserver.pool_list('nope')->>'outcome', 'UNKNOWN_POOL', 'a pool that is not there');

-- Nobody to start it.
SELECT is(pg_temp.ask('a'), 'REFUSED NO_MANAGER', 'without a manager nobody waits in vain');
SELECT is(pg_temp.ask('a', 'nope'), 'REFUSED UNKNOWN_POOL', 'nor for a pool that is not there');
SELECT camserver.manager_register(:m1, 'h1', 1, 'v') \g /dev/null
UPDATE camserver.pools SET host = 'h9' WHERE name = 'p';
SELECT is(pg_temp.ask('a'), 'REFUSED NO_MANAGER', 'another host''s manager does not help');

-- Starts are joined.
SELECT pg_temp.fresh('{"max_capacity": 3}') \g /dev/null
SELECT is(pg_temp.ask('a'), 'WAITING', 'the first has to wait');
SELECT is((SELECT (a->>'timeout_ms', a->>'position', a->>'poll_ms')::text FROM said WHERE name = 'a'), '(60000,1,1000)',
    'as long as he said, first in the queue');
SELECT is(pg_temp.states(), '1 wanted', 'for a worker that is started for him');
SELECT is(pg_temp.sync('s', false), 0, 'a manager that may not start does not');
SELECT is(pg_temp.sync(), 1, 'one that may takes it on');
SELECT is(pg_temp.sync(), 0, 'once');
SELECT is(pg_temp.ask('b'), 'WAITING', 'the second waits');
SELECT is(pg_temp.states(), '1 wanted, 1 starting', 'for a second one');
SELECT camserver.worker_leave(:h1, (a->>'ticket')::uuid) FROM said WHERE name = 'b' \g /dev/null
SELECT is(pg_temp.states(), '1 starting', 'which is not started after all when he leaves');
SELECT is(pg_temp.ask('b'), 'WAITING', 'he comes again');
SELECT is(pg_temp.ask('c', p_holder => :h2), 'WAITING', 'a third');
SELECT is(pg_temp.ask('d'), 'WAITING', 'and a fourth');
SELECT is(pg_temp.states(), '2 wanted, 1 starting', 'the capacity is the limit');
SELECT is(pg_temp.poll('a'), 'WAITING', 'nothing yet');
SELECT is(pg_temp.ready(), 1::bigint, 'the first is ready');
SELECT is(pg_temp.poll('b'), 'WAITING', 'it is not the second''s');
SELECT is(pg_temp.poll('a', :h2), 'REFUSED POOL_TIMEOUT', 'a ticket is its holder''s');
SELECT pg_temp.say('a', a || jsonb_build_object('ticket', (SELECT ticket FROM camserver.worker_waiters ORDER BY position LIMIT 1)))
    FROM said WHERE name = 'a' \g /dev/null
SELECT is(pg_temp.poll('a'), 'GRANTED', 'but the first''s');
SELECT is((SELECT (a->>'url', a->>'call_path', a->>'cold')::text FROM said WHERE name = 'a'),
    '(http://127.0.0.1:1001,/v1/analyze,true)', 'where to call, and that it was started for this');
SELECT is((SELECT count(*)::integer FROM camserver.worker_waiters), 3, 'who was told waits no more');

-- Released, it goes to the longest waiter.
SELECT is(pg_temp.release('a', :h2), 'FENCED', 'only its holder may release');
SELECT is(pg_temp.release('a'), 'OK', 'released');
SELECT is(pg_temp.release('a'), 'FENCED', 'once');
SELECT is(pg_temp.poll('c', :h2), 'WAITING', 'not to the third');
SELECT is(pg_temp.poll('b'), 'GRANTED', 'to the second');
SELECT is((SELECT a->>'cold' FROM said WHERE name = 'b'), 'false', 'who gets a used one');
SELECT ok((SELECT (b.a->>'token')::bigint > (a.a->>'token')::bigint FROM said a, said b WHERE a.name = 'a' AND b.name = 'b'),
    'under a new token');
SELECT is(pg_temp.evict('a'), 'FENCED', 'the old one is void');
SELECT is(pg_temp.states(), '2 wanted, 1 in_use', 'two starts for the two who wait');
SELECT pg_temp.sync(), pg_temp.ready() \g /dev/null
SELECT is(pg_temp.poll('c', :h2) || pg_temp.poll('d'), 'GRANTEDGRANTED', 'all are served');
SELECT is(pg_temp.ask('e', p_ms => 0), 'REFUSED POOL_TIMEOUT', 'who would not wait is told so at once');
SELECT is(pg_temp.evict('d'), 'OK', 'an evicted worker');
SELECT is(pg_temp.states(), '2 in_use, 1 stopping', 'stops');
SELECT is(pg_temp.ask('e'), 'WAITING', 'its slot');
SELECT is(pg_temp.states(), '1 wanted, 2 in_use, 1 stopping', 'is free at once');
SELECT pg_temp.sync() \g /dev/null
SELECT is((SELECT jsonb_array_length(a->'stop') FROM said WHERE name = 'sync'), 1, 'the manager is told to stop it');
SELECT is(camserver.worker_gone(:m1, (a->>'worker_id')::uuid, 'exit status 0')->>'outcome', 'OK', 'it is gone') FROM said
    WHERE name = 'd';
SELECT is((SELECT reason FROM camserver.workers WHERE state = 'gone' AND pool = 'p'), E'evicted: because\nexit status 0',
    'with the whole reason');
SELECT is(camserver.worker_gone(:m1, (a->>'worker_id')::uuid, 'again')->>'outcome', 'UNKNOWN_WORKER', 'once') FROM said
    WHERE name = 'd';
SELECT is(camserver.worker_gone(:m2, gen_random_uuid(), 'x')->>'outcome', 'NOT_MANAGER', 'only a manager may say so');

-- The most recently used first.
SELECT pg_temp.fresh('{"max_capacity": 2, "min_idle": 2}') \g /dev/null
SELECT pg_temp.sync(), pg_temp.ready(), pg_temp.ask('a'), pg_temp.ask('b'), pg_temp.release('b'), pg_temp.release('a') \g /dev/null
SELECT is(pg_temp.ask('c'), 'GRANTED', 'of two idle ones');
SELECT is((SELECT a->>'worker_id' FROM said WHERE name = 'c'), (SELECT a->>'worker_id' FROM said WHERE name = 'a'),
    'the one that was used last is taken');

-- Start times.
SELECT pg_temp.fresh('{"max_capacity": 2}') \g /dev/null
SELECT pg_temp.ask('a'), pg_temp.sync(), pg_temp.ready(1000) \g /dev/null
SELECT is((SELECT start_ms FROM camserver.pools WHERE name = 'p'), 1000::float8, 'the first start time is the average');
SELECT pg_temp.ask('b'), pg_temp.sync(), pg_temp.ready(2000) \g /dev/null
SELECT is((SELECT start_ms FROM camserver.pools WHERE name = 'p'), 1300::float8, 'which moves with the next');

-- Starts at a time.
SELECT camserver.setting_set('pool_max_starting', '2') \g /dev/null
SELECT pg_temp.fresh('{"max_capacity": 9}') \g /dev/null
SELECT pg_temp.ask('x' || i) FROM generate_series(1, 5) i \g /dev/null
SELECT is(pg_temp.sync(), 2, 'a manager takes on so many starts at a time');
SELECT is(pg_temp.sync(), 0, 'no more');
SELECT pg_temp.ready() \g /dev/null
SELECT is(pg_temp.sync(), 2, 'until they are done');
SELECT camserver.setting_set('pool_max_starting', '10') \g /dev/null

-- Starts that fail.
SELECT pg_temp.fresh('{"max_capacity": 4}') \g /dev/null
CREATE FUNCTION pg_temp.fail() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(camserver.worker_failed('00000000-0000-0000-0000-0000000000b1', worker_id, token, 'no luck')->>'outcome', ',')
    FROM camserver.workers WHERE state = 'starting' $$;
SELECT pg_temp.ask('a'), pg_temp.ask('b') \g /dev/null
UPDATE camserver.workers SET requested_at = requested_at - interval '1 s' WHERE worker_id = (SELECT worker_id FROM
    camserver.workers WHERE state = 'wanted' LIMIT 1);
SELECT camserver.setting_set('pool_max_starting', '1') \g /dev/null
SELECT pg_temp.sync() \g /dev/null
SELECT is(pg_temp.states(), '1 wanted, 1 starting', 'one is taken on, one is not');
SELECT is(pg_temp.fail(), 'OK', 'the first fails');
SELECT is(pg_temp.states(), '1 stopping', 'the other one is not even tried');
SELECT ok((SELECT retry_at BETWEEN last_error_at + interval '0.99 s' AND last_error_at + interval '1.01 s' FROM camserver.pools
    WHERE name = 'p'), 'for a second');
SELECT is(pg_temp.ask('c'), 'WAITING', 'one failure is no reason to refuse');
SELECT camserver.pool_reap() \g /dev/null
SELECT is(pg_temp.states(), '1 stopping', 'nothing before the pause is over');
CREATE FUNCTION pg_temp.pause_over() RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.pools SET retry_at = clock_timestamp(); SELECT camserver.pool_reap() $$;
SELECT pg_temp.pause_over() \g /dev/null
SELECT is(pg_temp.states(), '1 wanted, 1 stopping', 'then one is tried for all');
SELECT pg_temp.sync(), pg_temp.fail(), pg_temp.pause_over(), pg_temp.sync(), pg_temp.fail() \g /dev/null
SELECT is((SELECT fail_streak FROM camserver.pools WHERE name = 'p'), 3, 'three in a row');
SELECT ok((SELECT retry_at > last_error_at + interval '3.9 s' FROM camserver.pools WHERE name = 'p'), 'longer pauses');
SELECT is(pg_temp.ask('d'), 'REFUSED POOL_FAILING', 'now callers are refused at once');
SELECT is((SELECT (a->>'reason', a->>'retry_after')::text FROM said WHERE name = 'd'), '("its last 3 starts failed: no luck",4)',
    'told why, and when to come again');
SELECT is(pg_temp.poll('a') || pg_temp.poll('b'), 'REFUSED POOL_FAILINGREFUSED POOL_FAILING', 'and those who wait as well');
SELECT is(camserver.pool_list('p')->'pool'->'refusal'->>'error_code', 'POOL_FAILING', 'the API says so');
SELECT camserver.pool_set('p', '{"command": "better"}') \g /dev/null
SELECT is(pg_temp.ask('e'), 'WAITING', 'a change makes it usable at once');
SELECT pg_temp.sync(), pg_temp.ready() \g /dev/null
SELECT is((SELECT (fail_streak, retry_at)::text FROM camserver.pools WHERE name = 'p'), '(0,)', 'a good start ends it');
SELECT camserver.setting_set('pool_max_starting', '10') \g /dev/null

-- What time does.
SELECT pg_temp.fresh('{"max_capacity": 4, "min_idle": 1, "idle_timeout_sec": 10}') \g /dev/null
SELECT pg_temp.ask('a'), pg_temp.ask('b'), pg_temp.sync(), pg_temp.ready(), pg_temp.poll('a'), pg_temp.poll('b') \g /dev/null
SELECT pg_temp.release('a'), pg_temp.release('b') \g /dev/null
SELECT camserver.pool_reap() \g /dev/null
SELECT is(pg_temp.states(), '3 idle', 'not before its time');
UPDATE camserver.workers SET idle_since = idle_since - interval '11 s';
SELECT camserver.pool_reap() \g /dev/null
SELECT is(pg_temp.states(), '1 idle, 2 stopping', 'idle ones stop, but for min_idle');
SELECT is((SELECT DISTINCT reason FROM camserver.workers WHERE state = 'stopping'), 'idle for 10 s', 'with the reason');
-- A dead holder: what was called is retired, what was not is returned.
SELECT pg_temp.fresh('{"max_capacity": 2}') \g /dev/null
SELECT pg_temp.ask('a'), pg_temp.ask('b', p_holder => :h2), pg_temp.sync(), pg_temp.ready(), pg_temp.poll('a') \g /dev/null
SELECT camserver.pool_reap() \g /dev/null
SELECT is(pg_temp.states(), '2 in_use', 'who lives keeps his worker');
UPDATE camserver.pool_holders SET last_heartbeat = clock_timestamp() - interval '91 s';
SELECT camserver.pool_reap() \g /dev/null
SELECT is(pg_temp.states(), '1 idle, 1 stopping', 'who is dead does not: one is retired, one was never heard of');
SELECT is((SELECT count(*)::integer FROM camserver.worker_waiters), 0, 'and nobody waits for him');
SELECT is(pg_temp.release('a'), 'FENCED', 'if he comes back, it is not his');
-- A heartbeat that does not name what it has.
SELECT pg_temp.ask('a') \g /dev/null
SELECT is(camserver.worker_heartbeat(:h1, 'me', 10, '[]')->>'outcome', 'OK', 'a fresh grant may still be on its way');
SELECT is(pg_temp.states(), '1 in_use, 1 stopping', 'and is left alone');
UPDATE camserver.workers SET granted_at = granted_at - interval '11 s' WHERE state = 'in_use';
SELECT is((SELECT camserver.worker_heartbeat(:h1, 'me', 10, jsonb_build_array(jsonb_build_object('worker_id', a->>'worker_id',
    'token', (a->>'token')::bigint)))->'lost' FROM said WHERE name = 'a'), '[]', 'one that is named is kept');
SELECT camserver.worker_heartbeat(:h1, 'me', 10, '[]') \g /dev/null
SELECT is(pg_temp.states(), '1 idle, 1 stopping', 'one that is not is returned');
SELECT is((SELECT camserver.worker_heartbeat(:h1, 'me', 10, jsonb_build_array(jsonb_build_object('worker_id', a->>'worker_id',
    'token', (a->>'token')::bigint)))->'lost'->>0 FROM said WHERE name = 'a'), (SELECT a->>'worker_id' FROM said WHERE name = 'a'),
    'and one that is not his any more, he hears of');

-- Rows and reality.
SELECT pg_temp.fresh('{"max_capacity": 3}') \g /dev/null
SELECT pg_temp.ask('a'), pg_temp.sync(), pg_temp.ready(), pg_temp.poll('a') \g /dev/null
SELECT is(camserver.manager_sync(:m1, ARRAY[(SELECT (a->>'worker_id')::uuid FROM said WHERE name = 'a'),
    '00000000-0000-0000-0000-00000000dead'::uuid], false)->'orphans', '["00000000-0000-0000-0000-00000000dead"]',
    'what no row names is an orphan');
SELECT is(pg_temp.states(), '1 in_use', 'what one names is not');
UPDATE camserver.workers SET driver = 'docker' WHERE state = 'in_use';
SELECT camserver.manager_sync(:m1, '{}', false, '{docker}') \g /dev/null
SELECT is(pg_temp.states(), '1 in_use', 'what cannot be seen is not lost');
SELECT camserver.manager_sync(:m1, '{}', false) \g /dev/null
SELECT is(pg_temp.states(), 'none', 'what can be seen not to run is');
SELECT is((SELECT camserver.manager_sync(:m1, ARRAY[(a->>'worker_id')::uuid], false)->'orphans'->>0 FROM said WHERE name = 'a'),
    (SELECT a->>'worker_id' FROM said WHERE name = 'a'), 'and if it runs after all, it is an orphan');
SELECT pg_temp.ask('a'), pg_temp.sync() \g /dev/null
SELECT camserver.manager_register(:m2, 'h1', 2, 'v') \g /dev/null
SELECT is(pg_temp.states(), '1 wanted', 'a new manager begins half-done starts anew');
SELECT is((SELECT fail_streak FROM camserver.pools WHERE name = 'p'), 0, 'which is no failure of the pool');
SELECT is(camserver.manager_sync(:m1, '{}', true)->>'outcome', 'NOT_MANAGER', 'and the old one is none any more');

-- Every state change that is not in the table is refused, whoever tries.
SELECT is((SELECT count(*)::integer FROM camserver.worker_transitions), 12, 'twelve ways to change');
CREATE FUNCTION pg_temp.try(p_from text, p_to text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM camserver.workers;
    INSERT INTO camserver.workers (pool, state, host, address, port, holder_id, requested_at, ended_at) VALUES ('p',
        p_from::camserver.worker_state, 'h', 'a', 1, CASE p_from WHEN 'in_use' THEN gen_random_uuid() END, now(),
        CASE p_from WHEN 'gone' THEN now() END);
    UPDATE camserver.workers SET state = p_to::camserver.worker_state, holder_id = CASE p_to WHEN 'in_use' THEN
        gen_random_uuid() END, ended_at = CASE p_to WHEN 'gone' THEN now() END;
    RETURN true;
EXCEPTION WHEN check_violation THEN
    RETURN false;
END $$;
SELECT is((SELECT count(*)::integer FROM unnest(enum_range(NULL::camserver.worker_state)) f,
    unnest(enum_range(NULL::camserver.worker_state)) t WHERE f <> t AND pg_temp.try(f::text, t::text) IS DISTINCT FROM EXISTS (
    SELECT 1 FROM camserver.worker_transitions WHERE from_state = f AND to_state = t)), 0, 'and no other');

-- Away with it.
DELETE FROM camserver.workers;
SELECT pg_temp.ask('z') \g /dev/null
SELECT is(camserver.pool_remove('p')->>'outcome', 'OK', 'a pool that nothing runs in is removed');
SELECT is(camserver.pool_remove('p')->>'outcome', 'UNKNOWN_POOL', 'once');

SELECT * FROM finish();
ROLLBACK;
