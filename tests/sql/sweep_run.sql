-- sweep_run: the periodic work, one piece a call; one that fails does not hold up the others.
BEGIN;
SELECT plan(26);

CREATE FUNCTION pg_temp.run() RETURNS jsonb LANGUAGE sql AS $$ SELECT
    camserver.sweep_run('00000000-0000-0000-0000-00000000000d') $$;
CREATE FUNCTION pg_temp.due(p_names text) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.sweeps SET next_run_at = CASE WHEN name ~ p_names THEN now() - interval '1 min' ELSE 'infinity'
        END $$;

SELECT
    results_eq('SELECT name, interval_sec FROM camserver.sweeps
    WHERE name IN (''leases'', ''sessions'', ''admission_metrics'', ''prune'') ORDER BY name',
    $$VALUES ('admission_metrics', 10), ('leases', 10), ('prune', 3600), ('sessions', 10)$$,
    'leases every 10 s, pruning every hour');
UPDATE camserver.sweeps SET next_run_at = '-infinity', last_run_at = NULL;
SELECT pg_temp.run() FROM generate_series(1, (SELECT count(*)::integer + 3 FROM camserver.sweeps)) \g /dev/null
SELECT is((SELECT string_agg(name || ': ' || coalesce(last_error, 'not run'), ', ') FROM camserver.sweeps
    WHERE last_error IS NOT NULL OR last_run_at IS NULL), NULL, 'on a fresh database every sweep runs without an error');
SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.lease_acquire('u' || i, 't_cam') FROM generate_series(1, 2) i \g /dev/null
UPDATE camserver.modal_leases SET expires_at = clock_timestamp() WHERE user_id = 'u1';
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp();

SELECT pg_temp.due('^leases$') \g /dev/null
SELECT is(pg_temp.run(), '{"name":"leases","count":1,"more":false}', 'leases: the dead one ends');
SELECT is((SELECT count(*)::integer FROM camserver.modal_leases), 1, 'the other stays');
SELECT ok((SELECT next_run_at BETWEEN clock_timestamp() + interval '9 s' AND clock_timestamp() + interval '10 s'
    AND last_run_at > now() AND last_count = 1 AND last_ms >= 0 AND last_error IS NULL AND last_by =
    '00000000-0000-0000-0000-00000000000d'
    FROM camserver.sweeps WHERE name = 'leases'), 'the row tells when, who and what');
SELECT is(pg_temp.run(), '{}', 'nothing else is due');

SELECT camserver.system_status('user:x') \g /dev/null
SELECT pg_temp.due('^sessions$') \g /dev/null
SELECT is(pg_temp.run(), jsonb_build_object('name', 'sessions', 'count', (SELECT count(*) FROM camserver.ui_sessions),
    'more', false), 'sessions: viewers are counted');
SELECT pg_temp.due('^admission_metrics$') \g /dev/null
SELECT is(pg_temp.run(), '{"name":"admission_metrics","count":1,"more":false}', 'admission_metrics: a row is recorded');
INSERT INTO camserver.modal_lease_log VALUES (gen_random_uuid(), 'old', 't_cam', 'sub', now() - interval '3 d',
    now() - interval '3 d', 'ttl');
SELECT pg_temp.due('^prune$') \g /dev/null
SELECT is(pg_temp.run(), '{"name":"prune","count":1,"more":false}', 'prune: the old goes');
SELECT ok((SELECT next_run_at > clock_timestamp() + interval '59 min' FROM camserver.sweeps WHERE name = 'prune'),
    'for an hour');
DELETE FROM camserver.modal_leases;
SELECT pg_temp.due('^usage$') \g /dev/null
SELECT is(pg_temp.run(), '{"name":"usage","count":1,"more":false}', 'usage: what a hand edit left wrong is mended');
SELECT is((SELECT units_used FROM camserver.stream_usage WHERE stream_server_id = 'default'), 0, 'and right again');

-- The most overdue comes first.
UPDATE camserver.sweeps SET next_run_at = 'infinity';
UPDATE camserver.sweeps SET next_run_at = now() - interval '1 min' WHERE name = 'leases';
UPDATE camserver.sweeps SET next_run_at = now() - interval '2 min' WHERE name = 'sessions';
UPDATE camserver.sweeps SET next_run_at = clock_timestamp() + interval '1 min' WHERE name = 'prune';
SELECT is((SELECT array_agg(pg_temp.run()->>'name') FROM generate_series(1, 3)), ARRAY['sessions', 'leases', NULL],
    'the most overdue comes first; what is not due does not come');

-- More to do.
SELECT camserver.stream_server_set('t_b') \g /dev/null
SELECT camserver.camera_set('t_cb', '{"stream_server_id":"t_b"}') \g /dev/null
SELECT camserver.lease_acquire('b1', 't_cb') \g /dev/null
UPDATE camserver.modal_leases SET expires_at = clock_timestamp();
UPDATE camserver.stream_usage SET next_dead_at = clock_timestamp();
SELECT pg_temp.due('^leases$') \g /dev/null
SELECT is(pg_temp.run()->>'more', 'true', 'with two servers there is more to do');
SELECT is(pg_temp.run(), '{"name":"leases","count":1,"more":false}', 'which is due at once');
SELECT is(pg_temp.run(), '{}', 'until all is done');

-- A sweep that fails.
INSERT INTO camserver.sweeps (name, interval_sec) VALUES ('nonsense', 5);
SELECT pg_temp.due('^(sessions|nonsense)$') \g /dev/null
UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'nonsense';
SELECT is(pg_temp.run(),
    '{"name":"nonsense","count":0,"more":false,"error":"no function does the sweep \"nonsense\""}',
    'an unknown sweep says so');
SELECT is((SELECT last_error FROM camserver.sweep_list WHERE name = 'nonsense'),
    'no function does the sweep "nonsense"', 'it is recorded');
SELECT ok((SELECT next_run_at > clock_timestamp() FROM camserver.sweeps WHERE name = 'nonsense'),
    'and tried again at its next time');
SELECT is(pg_temp.run()->>'name', 'sessions', 'the others go on');

-- One that fails half way leaves nothing behind.
INSERT INTO camserver.modal_lease_log VALUES (gen_random_uuid(), 'old', 't_cam', 'sub', now() - interval '3 d',
    now() - interval '3 d', 'ttl');
ALTER TABLE camserver.dispatchers RENAME TO t_hidden;
SELECT pg_temp.due('^(prune|leases)$') \g /dev/null
UPDATE camserver.sweeps SET next_run_at = '-infinity' WHERE name = 'prune';
CREATE TEMP TABLE broken AS SELECT pg_temp.run() AS a;
SELECT is((a->>'name', a->>'count')::text, '(prune,0)', 'a broken prune') FROM broken;
SELECT matches(a->>'error', 'dispatchers', 'tells its error') FROM broken;
SELECT is((SELECT count(*)::integer FROM camserver.modal_lease_log WHERE user_id = 'old'), 1,
    'and is undone as a whole');
SELECT is(pg_temp.run()->>'name', 'leases', 'the others go on');
ALTER TABLE camserver.t_hidden RENAME TO dispatchers;
SELECT pg_temp.due('^prune$') \g /dev/null
SELECT is(pg_temp.run()->>'count', '1', 'mended, it works again');
SELECT is((SELECT last_error FROM camserver.sweeps WHERE name = 'prune'), NULL, 'and the error is gone');

SELECT * FROM finish();
ROLLBACK;
