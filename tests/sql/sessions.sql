-- Who is looking: noted by polling, counted by the sweep.
BEGIN;
SELECT plan(13);

DELETE FROM camserver.ui_sessions;
SELECT camserver.system_status('user:ada'), camserver.suggest_get('anon:1'),
    camserver.suggest_get('user:ada') \g /dev/null
SELECT results_eq('SELECT user_id FROM camserver.ui_sessions ORDER BY 1', ARRAY['anon:1', 'user:ada'],
    'polling is noted, once a user');
SELECT camserver.system_status('token:x'), camserver.suggest_get('token:x'), camserver.system_status(NULL) \g /dev/null
SELECT is((SELECT count(*)::integer FROM camserver.ui_sessions), 2, 'programs and nobody are no viewers');
SELECT is(camserver.session_sweep(), '{"count":2,"more":false}', 'the sweep counts');
SELECT is((camserver.system_status()->>'active_ui_users')::integer, 2, 'and the status tells');

UPDATE camserver.ui_sessions SET last_seen_at = last_seen_at - interval '10 s';
CREATE TEMP TABLE seen AS SELECT * FROM camserver.ui_sessions;
SELECT camserver.system_status('user:ada') \g /dev/null
SELECT results_eq('SELECT * FROM camserver.ui_sessions ORDER BY user_id', 'SELECT * FROM seen ORDER BY user_id',
    'within 15 s polling writes nothing');
UPDATE camserver.ui_sessions SET last_seen_at = last_seen_at - interval '6 s',
    first_seen_at = first_seen_at - interval '1 d';
SELECT camserver.system_status('user:ada') \g /dev/null
SELECT ok((SELECT last_seen_at > clock_timestamp() - interval '5 s' AND first_seen_at < clock_timestamp() - interval
    '23 h'
    FROM camserver.ui_sessions WHERE user_id = 'user:ada'), 'after that it does');
UPDATE camserver.ui_sessions SET last_seen_at = clock_timestamp() - interval '61 s' WHERE user_id = 'anon:1';
SELECT is(camserver.session_sweep()->>'count', '1', 'who was last seen a minute ago is not active');
SELECT is((SELECT count(*)::integer FROM camserver.ui_sessions), 2, 'but is not forgotten');
UPDATE camserver.ui_sessions SET last_seen_at = clock_timestamp() - interval '61 min' WHERE user_id = 'anon:1';
SELECT camserver.session_sweep() \g /dev/null
SELECT is((SELECT count(*)::integer FROM camserver.ui_sessions), 1, 'before an hour has passed');
SELECT camserver.setting_set('ui_active_sec', '5') \g /dev/null
UPDATE camserver.ui_sessions SET last_seen_at = clock_timestamp() - interval '6 s';
SELECT is(camserver.session_sweep()->>'count', '0', 'the setting counts');
INSERT INTO camserver.ui_sessions SELECT 'old' || i, now() - interval '2 h',
    now() - interval '2 h' FROM generate_series(1, 5001) i;
SELECT camserver.setting_set('expire_budget_ms', '0') \g /dev/null
SELECT is(camserver.session_sweep()->>'more', 'true', 'the long gone go a slice at a time');
SELECT camserver.setting_set('expire_slice_rows', '1000'), camserver.setting_set('expire_budget_ms', '1000') \g /dev/null
SELECT camserver.session_sweep() FROM generate_series(1, 6) \g /dev/null
SELECT is(camserver.session_sweep()->>'more', 'false', 'until they are gone');
SELECT is((SELECT count(*)::integer FROM camserver.ui_sessions), 1, 'all of them');

SELECT * FROM finish();
ROLLBACK;
