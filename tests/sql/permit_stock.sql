-- Stocks of permits: who gets one and how big, that stock and bucket together never hold more than the limit, reports that may
-- come twice, recall, and what a silent holder leaves.
BEGIN;
SELECT plan(41);

CREATE FUNCTION pg_temp.id(n integer) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.holder(n integer DEFAULT 1) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('aaaaaaaa-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.exchange(p_news jsonb, p_holder integer DEFAULT 1) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.permit_exchange(pg_temp.holder(p_holder), '{"release": [], "cancel": [], "ask": []}'::jsonb || p_news) $$;
CREATE FUNCTION pg_temp.stock(n integer, p_model text, p_n integer, p_holder integer DEFAULT 1) RETURNS jsonb LANGUAGE sql AS $$
    SELECT pg_temp.exchange(jsonb_build_object('stock', jsonb_build_array(jsonb_build_object('id', pg_temp.id(n), 'model', p_model,
        'n', p_n))), p_holder)->'answers'->0 $$;
CREATE FUNCTION pg_temp.report(n integer, p_slots integer, p_unspent integer, p_close boolean, p_first integer DEFAULT 0,
    p_calls jsonb DEFAULT '[]', p_holder integer DEFAULT 1) RETURNS jsonb LANGUAGE sql AS $$
    SELECT pg_temp.exchange(jsonb_build_object('report', jsonb_build_array(jsonb_build_object('id', pg_temp.id(n), 'slots', p_slots,
        'unspent', p_unspent, 'close', p_close, 'first', p_first, 'calls', p_calls))), p_holder) $$;
CREATE FUNCTION pg_temp.ask(n integer, p_model text, p_holder integer DEFAULT 1, p_wait integer DEFAULT 30000) RETURNS jsonb LANGUAGE sql AS $$
    SELECT pg_temp.exchange(jsonb_build_object('ask', jsonb_build_array(jsonb_build_object('id', pg_temp.id(n), 'model', p_model,
        'caller', 'u', 'wait_ms', p_wait))), p_holder) $$;
-- tokens, stocked, running of a model's bucket; time stands still in the tests: it is full again only after a year
CREATE FUNCTION pg_temp.bucket(p_model text) RETURNS integer[] LANGUAGE sql AS $$
    SELECT ARRAY[tokens, stocked, running] FROM camserver.buckets WHERE level = 'model' AND name = p_model $$;

SELECT is(camserver.limits_load('{"providers": {"p": {"base_url": "http://127.0.0.1:1", "models": [
    {"name": "wide", "rate_limit": {"requests": 100, "window_ms": 2678400000, "concurrent": 80}},
    {"name": "narrow", "rate_limit": {"requests": 10, "window_ms": 60000, "concurrent": 1}},
    {"name": "few", "rate_limit": {"requests": 1000, "window_ms": 60000, "concurrent": 15}}]},
    "s": {"base_url": "http://127.0.0.1:1", "rate_limit": {"requests": 1000, "window_ms": 60000, "concurrent": 1000, "shared": true}, "models": [{"name": "below"}]}}}')->>'outcome',
    'OK', 'the limits load');

-- Who gets one.
SELECT is(pg_temp.stock(1, 'wide', 1000)->>'outcome', 'STOCK', 'where there is plenty');
SELECT is(pg_temp.bucket('wide'), ARRAY[90, 10, 10], 'an eighth of the room, which is less than an eighth of the tokens');
SELECT is((SELECT (slots, tokens, stock) FROM camserver.permits WHERE permit_id = pg_temp.id(1)), (10, 10, true), 'one permit for all of it');
SELECT is(pg_temp.stock(2, 'wide', 3, 2)->'n', '3', 'no more than was asked for');
SELECT is(pg_temp.stock(2, 'wide', 3, 2)->>'outcome', 'NO_STOCK', 'an id that is known gets no second');
SELECT is(pg_temp.stock(3, 'narrow', 10)->>'outcome', 'NO_STOCK', 'little is not handed out in advance');
SELECT is(pg_temp.stock(3, 'few', 10)->>'outcome', 'NO_STOCK', 'nor is little room');
SELECT is(pg_temp.stock(3, 'below', 10)->>'outcome', 'NO_STOCK', 'nor what others draw from as well');
SELECT is(pg_temp.stock(3, 'nobody', 10)->>'outcome', 'NO_STOCK', 'nor what there is not');
SELECT ok(pg_temp.stock(4, 'wide', 2) @> '{"level": "model", "requests": 100, "tokens": 85, "running": 15, "base_url": "http://127.0.0.1:1", "model": "wide"}',
    'the answer has the facts and the target of a grant');
SELECT camserver.setting_set('permit_stock_max', '0');
SELECT is(pg_temp.stock(5, 'wide', 10)->>'outcome', 'NO_STOCK', 'the setting switches it off');
SELECT camserver.setting_set('permit_stock_max', '1024');

-- Spending: nothing is refilled while it lies in stock.
SELECT is(pg_temp.bucket('wide'), ARRAY[85, 15, 15], 'three stocks');
SELECT is((SELECT (r.tokens, r.remainder) FROM camserver.buckets b, camserver.bucket_refilled(b, now() + interval '1 year') r WHERE b.name = 'wide'),
    (85, 0::bigint), 'stock and bucket together are full');
SELECT pg_temp.report(1, 10, 6, false, 0, '[["anna", 3000, 1000], ["ben", 2000000, 0]]');
SELECT is(pg_temp.bucket('wide'), ARRAY[85, 11, 15], 'what is used is not in stock any more');
SELECT is((SELECT array_agg(caller ORDER BY caller) FROM camserver.permit_calls WHERE model = 'wide' AND outcome = 'released'),
    ARRAY['anna', 'ben'], 'calls that are over are recorded');
SELECT is((SELECT extract(epoch FROM ended_at - granted_at) FROM camserver.permit_calls WHERE caller = 'anna'), 0.002::numeric, 'with their times');
SELECT cmp_ok((SELECT call_ms FROM camserver.buckets WHERE name = 'wide'), '>', 900::real, 'and count in how long calls take');
SELECT is((SELECT r.tokens FROM camserver.buckets b, camserver.bucket_refilled(b, now() + interval '1 year') r WHERE b.name = 'wide'), 89,
    'then they come again');

-- The same report twice, and one that goes on from it.
SELECT pg_temp.report(1, 10, 6, false, 0, '[["anna", 3000, 1000], ["ben", 2000000, 0]]');
SELECT is(pg_temp.bucket('wide'), ARRAY[85, 11, 15], 'said twice, done once');
SELECT pg_temp.report(1, 8, 6, false, 1, '[["ben", 2000000, 0], ["cleo", 5, 4]]');
SELECT is((SELECT array_agg(caller ORDER BY caller) FROM camserver.permit_calls WHERE model = 'wide'), ARRAY['anna', 'ben', 'cleo'],
    'a call is recorded once');
SELECT is(pg_temp.bucket('wide'), ARRAY[85, 11, 13], 'room comes back as calls end');
SELECT pg_temp.report(1, 0, 0, true, p_holder => 2);
SELECT is(pg_temp.bucket('wide'), ARRAY[85, 11, 13], 'nobody reports of another''s stock');

-- Closing: tokens go back at once, room as the calls end.
SELECT pg_temp.report(1, 2, 6, true, 3);
SELECT is(pg_temp.bucket('wide'), ARRAY[91, 5, 7], 'what was not used goes back');
SELECT pg_temp.report(1, 2, 6, true, 3);
SELECT is(pg_temp.bucket('wide'), ARRAY[91, 5, 7], 'once');
SELECT pg_temp.report(1, 0, 0, true, 3, '[["dora", 7, 6], ["dora", 7, 6]]');
SELECT is(pg_temp.bucket('wide'), ARRAY[91, 5, 5], 'the last calls');
SELECT is((SELECT count(*) FROM camserver.permits WHERE permit_id = pg_temp.id(1)), 0::bigint, 'and it is over');
SELECT pg_temp.report(1, 0, 0, true, 3, '[["dora", 7, 6], ["dora", 7, 6]]');
SELECT is((SELECT count(*) FROM camserver.permit_calls WHERE caller = 'dora'), 2::bigint, 'for good');
SELECT pg_temp.exchange(jsonb_build_object('report', jsonb_build_array(jsonb_build_object('id', pg_temp.id(4), 'slots', 0, 'close', true,
    'first', 0, 'calls', '[]'::jsonb))));
SELECT is(pg_temp.bucket('wide'), ARRAY[93, 3, 3], 'what its asker never heard of goes back whole');

-- Recall: somebody must wait.
SELECT is(pg_temp.stock(6, 'wide', 9)->'n', '9', 'one more');
UPDATE camserver.buckets SET tokens = 0, remainder = 0, refilled_at = clock_timestamp() WHERE name = 'wide';
SELECT is(pg_temp.ask(20, 'wide', 3)->'answers'->0->>'outcome', 'WAITING', 'who finds nothing waits');
SELECT is(pg_temp.exchange('{}')->'granted', jsonb_build_array(jsonb_build_object('id', pg_temp.id(6), 'model', 'wide', 'outcome', 'RECALLED')),
    'and those who have stock are told');
SELECT is(pg_temp.exchange('{}')->'granted', '[]', 'once');
SELECT is(pg_temp.stock(7, 'wide', 9)->>'outcome', 'NO_STOCK', 'nobody gets more while somebody waits');
SELECT pg_temp.report(6, 0, 9, true);
SELECT is((SELECT count(*) FROM camserver.permits WHERE permit_id = pg_temp.id(20)), 1::bigint, 'what comes back goes to who waits');
SELECT is(pg_temp.bucket('wide'), ARRAY[8, 3, 4], 'and the rest into the bucket');

-- Recall: the limits change.
SELECT camserver.limits_set('model', 'wide', '{"requests": 2}');
SELECT is(pg_temp.bucket('wide'), ARRAY[0, 3, 4], 'a lower limit holds for stock and bucket together');
SELECT is(pg_temp.exchange('{}', 2)->'granted'->0->>'outcome', 'RECALLED', 'and calls the stock back');
SELECT pg_temp.report(2, 0, 3, true, p_holder => 2);
SELECT is(pg_temp.bucket('wide'), ARRAY[2, 0, 1], 'what comes back is no more than the limit');

-- A holder that falls silent.
SELECT camserver.limits_set('model', 'wide', '{"requests": 100}');
UPDATE camserver.buckets SET tokens = 100, remainder = 0, refilled_at = clock_timestamp() WHERE name = 'wide';
SELECT pg_temp.stock(8, 'wide', 9);
UPDATE camserver.permits SET expires_at = clock_timestamp();
SELECT camserver.permit_expire();
SELECT is(pg_temp.bucket('wide'), ARRAY[91, 0, 0], 'room comes back, tokens that may have been used do not');
SELECT is((SELECT count(*) FROM camserver.permit_calls WHERE caller = 'stock' AND outcome = 'expired'), 1::bigint, 'and the record says so');

SELECT * FROM finish();
ROLLBACK;
