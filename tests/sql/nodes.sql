-- Inference nodes: made, changed, found by model, reported of.
BEGIN;
SELECT plan(31);
DELETE FROM camserver.nodes;
\set p1 '''00000000-0000-0000-0000-0000000000a1'''
\set p2 '''00000000-0000-0000-0000-0000000000a2'''

SELECT is(camserver.node_set('n1', '{"base_url": "http://n1:9000/", "models": "is21, other"}'), true, 'a node is made');
SELECT is(camserver.node_set('n1', '{"weight": "2"}'), false, 'and changed');
SELECT results_eq($$SELECT base_url, models, max_inflight, weight, http2, health_path, draining FROM camserver.nodes$$,
    $$VALUES ('http://n1:9000', ARRAY['is21', 'other'], 32, 2::float8, false, '/healthz', false)$$, 'with its defaults, without the last slash');
SELECT throws_ok($$SELECT camserver.node_set('n2', '{"base_url": "http://n2"}')$$, '23502', NULL, 'models are needed');
SELECT throws_ok($$SELECT camserver.node_set('n2', '{"base_url": "ftp://n2", "models": ["m"]}')$$, '23514', NULL, 'only http');
SELECT throws_ok($$SELECT camserver.node_set('n2', '{"base_url": "http://n2", "models": []}')$$, '23514', NULL, 'at least one model');
SELECT throws_ok($$SELECT camserver.node_set('n2', '{"base_url": "http://n2", "models": ["a b"]}')$$, '23514', NULL, 'models by their grammar');
SELECT throws_ok($$SELECT camserver.node_set('n2', '{"base_url": "http://n2", "models": ["m"], "wieght": 1}')$$, '42703', NULL, 'no other property');
SELECT throws_ok($$SELECT camserver.node_set('a b', '{"base_url": "http://n2", "models": ["m"]}')$$, '23514', NULL, 'names by their grammar');
SELECT throws_ok($$SELECT camserver.node_set('n1', '{"max_inflight": 0}')$$, '23514', NULL, 'a node takes at least one call');
SELECT is(camserver.node_put('n9', '{"draining": true}')->>'outcome', 'UNKNOWN_NODE', 'the API changes only what is there');
SELECT is(camserver.node_put('n9', '{"base_url": "x", "models": ["m"]}')->>'outcome', 'BAD_REQUEST', 'and says what is wrong');
SELECT is(camserver.node_put('n2', '{"base_url": "http://n2", "models": ["is21"]}')->>'outcome', 'CREATED', 'or makes a node');
SELECT is(camserver.node_put('n2', '{"max_inflight": 4}')#>>'{node,max_inflight}', '4', 'and shows it');

SELECT is(jsonb_array_length(camserver.node_candidates('is21')), 2, 'both serve is21');
SELECT is(camserver.node_candidates('other')#>>'{0,name}', 'n1', 'one serves the other');
SELECT is(camserver.node_candidates('none'), '[]', 'nobody serves none');
SELECT is(camserver.node_candidates('is21')#>>'{0,out_ms}', '0', 'nobody leaves it alone');

SELECT is((SELECT state FROM camserver.node_list WHERE name = 'n1'), 'unknown', 'nobody has called it yet');
SELECT camserver.node_report(:p1, 'gateway.fcgi', '[{"node": "n1", "out_ms": null, "inflight": 2, "latency_ms": 10,
    "requests": 5, "failures": 0, "ejections": 0, "changed": false}, {"node": "gone", "inflight": 0, "requests": 0, "failures": 0, "ejections": 0}]');
SELECT is((SELECT state FROM camserver.node_list WHERE name = 'n1'), 'up', 'somebody has');
SELECT camserver.node_report(:p2, 'cam-dispatcher', '[{"node": "n1", "out_ms": 30000, "reason": "500", "inflight": 1, "latency_ms": 20,
    "requests": 7, "failures": 5, "ejections": 1, "changed": true}]');
SELECT results_eq($$SELECT state, inflight, latency_ms, requests, failures, reason FROM camserver.node_list WHERE name = 'n1'$$,
    $$VALUES ('ejected', 3, 15.0, 12::bigint, 5::bigint, '500')$$, 'reports add up');
SELECT ok((camserver.node_candidates('is21')#>>'{0,out_ms}')::integer BETWEEN 25000 AND 30000, 'others are told for how long');
UPDATE camserver.node_reports SET reported_at = reported_at - interval '2 minutes' WHERE reporter_id = :p2;
SELECT is(camserver.node_candidates('is21')#>>'{0,out_ms}', '0', 'a process that fell silent does not count');
SELECT is((SELECT state FROM camserver.node_list WHERE name = 'n1'), 'up', 'nor in the list');
SELECT camserver.node_set('n1', '{"draining": true}');
SELECT is((SELECT state FROM camserver.node_list WHERE name = 'n1'), 'draining', 'a node that drains');
SELECT is(camserver.node_candidates('is21')#>>'{0,draining}', 'true', 'is still known');
SELECT camserver.node_set('n1', '{"base_url": "http://moved"}');
SELECT is((SELECT count(*) FROM camserver.node_reports WHERE node = 'n1'), 0::bigint, 'elsewhere, nothing is known of it');

SELECT camserver.node_configure('is21', 'http://conf:1', 'is21');
SELECT camserver.node_configure('is21', 'http://conf:2/', 'is21');
SELECT is((SELECT base_url FROM camserver.nodes WHERE name = 'is21'), 'http://conf:2', 'the configuration''s node follows it');
SELECT camserver.node_set('is21', '{"base_url": "http://mine"}');
SELECT camserver.node_configure('is21', 'http://conf:3', 'is21');
SELECT is((SELECT base_url FROM camserver.nodes WHERE name = 'is21'), 'http://mine', 'until an operator moves it');
SELECT is(camserver.node_remove('is21'), true, 'a node is forgotten');
SELECT is(camserver.node_remove('is21'), false, 'once');
SELECT * FROM finish();
ROLLBACK;
