-- Permits: the specification's worked examples, every refusal, the order of waiting, shared buckets, expiry.
BEGIN;
SELECT plan(66);

CREATE FUNCTION pg_temp.id(n integer) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.holder(n integer DEFAULT 1) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('aaaaaaaa-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
-- One request; the answer.
CREATE FUNCTION pg_temp.ask(n integer, p_model text, p_caller text DEFAULT 'u', p_wait integer DEFAULT 30000, p_holder integer DEFAULT 1)
RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.permit_acquire(pg_temp.holder(p_holder), jsonb_build_array(jsonb_build_object('id', pg_temp.id(n),
        'model', p_model, 'caller', p_caller, 'wait_ms', p_wait)))->0 $$;
CREATE FUNCTION pg_temp.free(n integer) RETURNS integer LANGUAGE sql AS $$
    SELECT camserver.permit_release(ARRAY[pg_temp.id(n)]) $$;
CREATE FUNCTION pg_temp.cancel(n integer, p_model text, p_keep boolean) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.permit_cancel(jsonb_build_array(jsonb_build_object('id', pg_temp.id(n), 'model', p_model, 'keep', p_keep)))->0 $$;
CREATE FUNCTION pg_temp.tokens(p_model text) RETURNS integer LANGUAGE sql AS $$
    SELECT tokens FROM camserver.buckets WHERE level = 'model' AND name = p_model $$;
CREATE FUNCTION pg_temp.bucket(p_tokens integer, p_remainder bigint, p_requests integer, p_window bigint, p_at timestamptz)
RETURNS camserver.buckets LANGUAGE sql AS $$
    SELECT (0, 'model', 'x', p_requests, p_window, 1, p_tokens, p_remainder, p_at, 0, 0, 0, 0, 0, 'infinity')::camserver.buckets $$;
-- The requests that have a permit, in the order of their numbers.
CREATE FUNCTION pg_temp.holds() RETURNS integer[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(right(permit_id::text, 12)::integer ORDER BY permit_id), '{}') FROM camserver.permits $$;
-- A clean slate: no permits, full buckets.
CREATE FUNCTION pg_temp.clean() RETURNS void LANGUAGE sql AS $$
    DELETE FROM camserver.permits; DELETE FROM camserver.permit_waiters; DELETE FROM camserver.permit_turns;
    UPDATE camserver.buckets SET tokens = requests, remainder = 0, running = 0, waiting = 0, turn = 0, call_ms = 0, stocked = 0,
        refilled_at = clock_timestamp() $$;

-- The specification's example of a refill.
SELECT is((SELECT (tokens, remainder) FROM camserver.bucket_refilled(pg_temp.bucket(3, 0, 10, 60000, '2026-01-01 12:00:00Z'),
    '2026-01-01 12:02:30Z')), (10, 0::bigint), '10 per 60 s, 3 left, after 150 s: 10, and nothing beyond');
SELECT is((SELECT tokens FROM camserver.bucket_refilled(pg_temp.bucket(3, 0, 10, 60000, '2026-01-01 12:00:00Z'),
    '2026-01-01 12:00:17.999999Z')), 5, 'after 17.999999 s two more');
SELECT is((SELECT tokens FROM camserver.bucket_refilled(pg_temp.bucket(3, 0, 10, 60000, '2026-01-01 12:00:00Z'),
    '2026-01-01 12:00:18Z')), 6, 'after 18 s three');
SELECT is((SELECT tokens FROM camserver.bucket_refilled(pg_temp.bucket(3, 0, 10, 60000, '2026-01-01 12:00:00Z'),
    '2026-01-01 11:00:00Z')), 3, 'a clock that went back takes nothing and gives nothing');
-- Exact: in 7,919 uneven steps comes what comes in one.
CREATE TEMP TABLE walk AS WITH RECURSIVE w AS (
    SELECT 0 AS n, pg_temp.bucket(0, 0, 997, 86400000, '2026-01-01') AS b
    UNION ALL SELECT n + 1, camserver.bucket_refilled(b, (b).refilled_at + make_interval(secs => 3.333333 + (n % 7) * 0.000001))
    FROM w WHERE n < 7919) SELECT b FROM w WHERE n = 7919;
SELECT is((SELECT ((b).tokens, (b).remainder) FROM walk), (SELECT (tokens, remainder) FROM walk, camserver.bucket_refilled(
    pg_temp.bucket(0, 0, 997, 86400000, '2026-01-01'), (b).refilled_at)), 'nothing is lost to rounding');
SELECT cmp_ok((SELECT (b).tokens FROM walk), '>', 300, 'of many');

-- The specification's configuration, and the merge.
SELECT is(camserver.limits_load('{"rate_limit": {"requests": 10, "window_ms": 60000, "concurrent": 1},
    "openai": {"provider": "openai", "base_url": "http://127.0.0.1:1", "rate_limit": {"requests": 20, "window_ms": 60000, "concurrent": 2},
        "models": [{"name": "gpt4-model", "model_name": "gpt-4", "rate_limit": {"requests": 5, "window_ms": 60000, "concurrent": 1}},
                   {"name": "mini"}, {"name": "half", "rate_limit": {"requests": 7}}]},
    "providers": {"local": {"provider": "ollama", "models": {"llama": {"rate_limit": {"concurrent": 3}}}}}}'),
    '{"outcome": "OK", "providers": 2, "models": 4}', 'the configuration loads');
SELECT results_eq($$SELECT model, requests, requests_from, window_ms::integer, window_ms_from, concurrent, concurrent_from FROM camserver.limits_effective()$$,
    $$VALUES ('llama', 10, 'global', 60000, 'global', 3, 'model'), ('gpt4-model', 5, 'model', 60000, 'model', 1, 'model'),
        ('half', 7, 'model', 60000, 'provider', 2, 'provider'), ('mini', 20, 'provider', 60000, 'provider', 2, 'provider')$$,
    'field by field: the model''s, else the provider''s, else the global one');
SELECT is((SELECT upstream_name FROM camserver.models WHERE model = 'gpt4-model'), 'gpt-4', 'the upstream has its own name for it');
SELECT is(camserver.limits_set('global', '', '{"requests": null, "window_ms": null, "concurrent": null}')->>'outcome', 'OK', 'all withdrawn');
SELECT results_eq($$SELECT requests, requests_from, window_ms::integer, concurrent FROM camserver.limits_effective('llama')$$,
    $$VALUES (10, 'default', 60000, 3)$$, 'the defaults are 10 in 60000 ms');
SELECT is((SELECT concurrent_from FROM camserver.limits_effective('mini')), 'provider', 'other levels stay');
SELECT throws_ok(format('SELECT camserver.limits_load(%L)', c), '22023', NULL, 'refused: ' || c) FROM unnest(ARRAY[
    '[]', '{"rate_limit": {"requests": 0}}', '{"rate_limit": {"request": 5}}', '{"rate_limit": 5}',
    '{"providers": {"p": {"models": [{"rate_limit": {}}]}}}', '{"providers": {"p": {"models": [{"name": "m", "rate_limit": {"shared": true}}]}}}']) c;
SELECT is(camserver.limits_set(l::camserver.limit_level, n, c::jsonb)->>'outcome', o, l || ' ' || c || ': ' || o) FROM (VALUES
    ('model', 'nobody', '{"requests": 1}', 'UNKNOWN_MODEL'), ('provider', 'nobody', '{"requests": 1}', 'UNKNOWN_PROVIDER'),
    ('model', 'mini', '{"requests": -1}', 'BAD_REQUEST'), ('model', 'mini', '{"shared": true}', 'BAD_REQUEST'),
    ('model', 'mini', '{"wishes": 3}', 'BAD_REQUEST'), ('model', 'mini', '{}', 'BAD_REQUEST')) v (l, n, c, o);

-- Tokens, room, and the order.
SELECT pg_temp.clean() \g /dev/null
SELECT is(pg_temp.ask(1, 'nobody')->>'outcome', 'UNKNOWN_MODEL', 'a model that is not there');
SELECT is(pg_temp.ask(1, 'gpt4-model')->>'outcome', 'GRANTED', 'granted');
SELECT is((pg_temp.tokens('gpt4-model'), (SELECT running FROM camserver.buckets WHERE name = 'gpt4-model')), (4, 1), 'one token, one place');
SELECT is(pg_temp.ask(1, 'gpt4-model')->>'outcome', 'GRANTED', 'asking again with the same id');
SELECT is(pg_temp.tokens('gpt4-model'), 4, 'is charged nothing');
SELECT is((SELECT ROW(a->>'outcome', a->>'place', a->>'level', a->>'binding')::text FROM pg_temp.ask(2, 'gpt4-model') a), ROW('WAITING', '1', 'model', 'concurrent')::text,
    'beyond concurrent one waits although tokens remain');
SELECT is((SELECT ROW(a->>'outcome', a->>'reason', a->>'tokens', a->>'concurrent', a->>'place')::text FROM pg_temp.ask(3, 'gpt4-model', 'u', 0) a),
    ROW('RATE_LIMITED', 'WAIT_EXCEEDED', '4', '1', '2')::text, 'who will not wait is refused, with the numbers');
SELECT cmp_ok((pg_temp.ask(3, 'gpt4-model', 'u', 0)->>'retry_after')::integer, '>', 0, 'and told when to come again');
SELECT is(pg_temp.tokens('gpt4-model'), 4, 'a refusal is charged nothing');
SELECT is(pg_temp.free(1), 1, 'released');
SELECT is(pg_temp.holds(), ARRAY[2], 'the next one has it');
SELECT is(pg_temp.tokens('gpt4-model'), 3, 'a release returns no token');
SELECT is(pg_temp.free(1), 0, 'a second release is none');
SELECT pg_temp.free(2) \g /dev/null
SELECT pg_temp.ask(n, 'gpt4-model'), pg_temp.free(n) FROM generate_series(11, 13) n \g /dev/null
SELECT is((SELECT ROW(a->>'outcome', a->>'binding', a->>'tokens')::text FROM pg_temp.ask(14, 'gpt4-model') a), ROW('WAITING', 'requests', '0')::text,
    'without a token one waits although there is room');
SELECT cmp_ok((camserver.permit_poll(pg_temp.holder())->>'next_ms')::integer, '<=', 12000, 'the next token is due within 12 s');
UPDATE camserver.buckets SET refilled_at = refilled_at - interval '12 s' WHERE name = 'gpt4-model';
SELECT is(camserver.permit_poll(pg_temp.holder())->'granted'->0->>'id', pg_temp.id(14)::text, 'when it has come, asking serves');
SELECT is(camserver.permit_poll(pg_temp.holder()), '{"granted": [], "next_ms": null}', 'and tells once');

-- Callers take turns; each in its own order.
SELECT pg_temp.clean() \g /dev/null
SELECT pg_temp.ask(1, 'gpt4-model', 'a') \g /dev/null
SELECT pg_temp.ask(n, 'gpt4-model', CASE WHEN n < 20 THEN 'a' ELSE 'b' END) FROM unnest(ARRAY[11, 12, 13, 14, 21, 22]) n \g /dev/null
SELECT is((SELECT array_agg(right(permit_id::text, 12)::integer ORDER BY place) FROM camserver.permit_queue), ARRAY[21, 11, 22, 12, 13, 14],
    'one caller''s flood does not shut out another');
SELECT is((SELECT c->>'outcome' FROM pg_temp.cancel(11, 'gpt4-model', false) c), 'CANCELLED', 'one leaves');
SELECT is((SELECT ROW(c->>'outcome', c->>'reason')::text FROM pg_temp.cancel(13, 'gpt4-model', true) c), ROW('RATE_LIMITED', 'DEADLINE')::text, 'another''s time is up');
SELECT is((SELECT waiting FROM camserver.buckets WHERE name = 'gpt4-model'), 4, 'four are left');
SELECT pg_temp.free(1) \g /dev/null
SELECT is(ROW(pg_temp.cancel(21, 'gpt4-model', true)->>'outcome', pg_temp.holds())::text, ROW('GRANTED', ARRAY[21])::text, 'time up, but granted before: kept');
SELECT is(ROW(pg_temp.cancel(21, 'gpt4-model', false)->>'outcome', pg_temp.holds())::text, ROW('RELEASED', ARRAY[22])::text, 'gone, but granted before: released, and the next one served');

-- Bounds of the queue.
UPDATE camserver.settings SET value = '3' WHERE name = 'permit_queue_max';
UPDATE camserver.settings SET value = '2' WHERE name = 'permit_queue_caller_max';
SELECT pg_temp.clean() \g /dev/null
SELECT is((SELECT array_agg(pg_temp.ask(n, 'gpt4-model', c)->>'outcome' ORDER BY n) FROM (VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'a'), (5, 'b'), (6, 'c')) v (n, c)),
    ARRAY['GRANTED', 'WAITING', 'WAITING', 'RATE_LIMITED', 'WAITING', 'RATE_LIMITED'], 'a caller fills its share, all together the queue');
SELECT is((SELECT array_agg(level::text) FROM camserver.permit_calls WHERE outcome = 'refused' AND model = 'gpt4-model' AND caller IN ('a', 'c')), ARRAY['model', 'model'],
    'refusals are recorded with the level');

-- Silence.
SELECT is(camserver.permit_renew(pg_temp.holder()), 4, 'a process that lives renews what it has');
UPDATE camserver.permits SET expires_at = clock_timestamp();
UPDATE camserver.permit_waiters SET seen_until = clock_timestamp() WHERE permit_id = pg_temp.id(2);
UPDATE camserver.buckets SET waiter_due_at = clock_timestamp() WHERE waiting > 0; -- as if it had been the bound from the start
SELECT camserver.permit_expire() \g /dev/null
SELECT is((pg_temp.holds(), (SELECT count(*)::integer FROM camserver.permit_waiters)), (ARRAY[5], 1),
    'the permit of a silent holder is free, the waiter of a silent process passed over');

-- Limits change under those who wait.
SELECT camserver.limits_set('model', 'gpt4-model', '{"concurrent": 2}') \g /dev/null
SELECT is(pg_temp.holds(), ARRAY[3, 5], 'raised: who waits is served at once');

-- Shared: all models of the provider draw from its bucket as well.
SELECT pg_temp.clean() \g /dev/null
SELECT camserver.limits_set('provider', 'openai', '{"shared": true, "concurrent": 2, "requests": 20}') \g /dev/null
SELECT pg_temp.ask(n, m) FROM (VALUES (1, 'mini'), (2, 'half')) v (n, m) \g /dev/null
SELECT is((SELECT ROW(a->>'outcome', a->>'level', a->>'name')::text FROM pg_temp.ask(3, 'gpt4-model') a), ROW('WAITING', 'provider', 'openai')::text, 'the provider''s own limit binds');
SELECT pg_temp.free(1) \g /dev/null
SELECT is(pg_temp.holds(), ARRAY[2, 3], 'a release of one model serves another');
SELECT is((SELECT running FROM camserver.shared_limits WHERE name = 'openai'), 2, 'the shared bucket counts both');

-- A model may run on the workers of a pool.
SELECT camserver.pool_set('p', '{"command": ["/bin/true"]}') \g /dev/null
SELECT throws_like($$SELECT camserver.limits_load('{"providers": {"own": {"models": [{"name": "seer", "pool": "nowhere"}]}}}')$$,
    '%names the pool "nowhere"%', 'a pool that is not there');
SELECT throws_ok($$SELECT camserver.limits_load('{"providers": {"own": {"models": [{"name": "seer", "pool": 5}]}}}')$$, '22023', NULL, 'a pool that is no name');
SELECT is(camserver.limits_load('{"providers": {"own": {"models": [{"name": "seer", "pool": "p"}]}}}')->>'outcome', 'OK', 'no base_url is needed');
SELECT is((SELECT ROW(a->>'outcome', a->>'pool', a->>'base_url')::text FROM pg_temp.ask(31, 'seer') a), ROW('GRANTED', 'p', NULL)::text, 'the grant tells the pool');
SELECT is(camserver.pool_remove('p'), '{"outcome": "POOL_IN_USE", "models": ["seer"]}', 'a pool that a model names is not removed');
SELECT is((SELECT draining FROM camserver.pools WHERE name = 'p'), false, 'nor drained');
SELECT is(camserver.limits_set(l::camserver.limit_level, n, c::jsonb)->>'outcome', o, l || ' ' || c || ': ' || o) FROM (VALUES
    ('model', 'seer', '{"pool": "nowhere"}', 'UNKNOWN_POOL'), ('provider', 'own', '{"pool": "p"}', 'BAD_REQUEST'),
    ('model', 'seer', '{"pool": null}', 'OK')) v (l, n, c, o);
SELECT is((SELECT pool FROM camserver.model_limits WHERE model = 'seer'), NULL, 'taken back');
SELECT is(camserver.pool_remove('p')->>'outcome', 'OK', 'then it can go');

SELECT * FROM finish();
ROLLBACK;
