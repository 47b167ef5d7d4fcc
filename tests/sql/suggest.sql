-- The suggestion: one camera for all; scores, switching, its end and pause, and what it costs.
BEGIN;
SELECT plan(58);

-- So much time goes by for the suggestion.
CREATE FUNCTION pg_temp.later(p_sec integer) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.suggest_state SET started_at = started_at - make_interval(secs => p_sec),
        scored_at = scored_at - make_interval(secs => p_sec), expires_at = expires_at - make_interval(secs => p_sec) $$;
CREATE FUNCTION pg_temp.nothing() RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.suggest_state SET camera_id = NULL, score = 0, started_at = NULL, scored_at = NULL,
        expires_at = '-infinity' $$;
CREATE FUNCTION pg_temp.shown() RETURNS text LANGUAGE sql AS $$
    SELECT camserver.suggest_get()->>'camera_id' $$;
CREATE FUNCTION pg_temp.left_sec() RETURNS integer LANGUAGE sql AS $$
    SELECT ceil(extract(epoch FROM expires_at - clock_timestamp()))::integer FROM camserver.suggest_state $$;

SELECT camserver.stream_server_set('t_s2') \g /dev/null
SELECT camserver.camera_set('t_5', '{"display_name":"Gate"}') \g /dev/null
SELECT camserver.camera_set('t_10', '{"suggest_weight":10,"stream_server_id":"t_s2"}') \g /dev/null
SELECT camserver.camera_set('t_1', '{"suggest_weight":1}') \g /dev/null
SELECT camserver.camera_set('t_0', '{"suggest_weight":0}') \g /dev/null
SELECT camserver.camera_set('t_off', '{"enabled":false}') \g /dev/null

SELECT is(camserver.suggest_get(), '{"suggest_active":false}', 'nothing is suggested at first');
SELECT is(camserver.suggest_offer('none', 500), 'unknown_camera', 'an unknown camera');
SELECT is(camserver.suggest_offer('t_off', 500), 'unknown_camera', 'a disabled camera');

-- The start at 50, after scaling by weight / 5.
SELECT is(camserver.suggest_offer('t_5', 49.9), 'weak', 'below 50 nothing starts');
SELECT is(camserver.suggest_offer('t_10', 24.9), 'weak', 'weight 10 doubles: 49.8 is weak');
SELECT is(camserver.suggest_offer('t_1', 249), 'weak', 'weight 1 is a fifth: 49.8 is weak');
SELECT is(camserver.suggest_offer('t_0', 1000), 'weak', 'weight 0 is never suggested');
SELECT is(camserver.suggest_get()->>'suggest_active', 'false', 'still nothing');
SELECT is(camserver.suggest_offer('t_5', 50, false, 'human'), 'started', 'at 50 it starts');
SELECT is(pg_temp.shown(), 't_5', 'for everybody');
SELECT is(pg_temp.left_sec(), 60, 'for 60 s');
SELECT pg_temp.nothing() \g /dev/null
SELECT is(camserver.suggest_offer('t_10', 25), 'started', 'weight 10: 25 are 50');
SELECT pg_temp.nothing() \g /dev/null
SELECT is(camserver.suggest_offer('t_1', 250), 'started', 'weight 1: 250 are 50');
SELECT pg_temp.nothing() \g /dev/null

-- What is shown.
SELECT camserver.suggest_offer('t_5', 100, false, 'hazard.fire') \g /dev/null
CREATE TEMP TABLE shown AS SELECT camserver.suggest_get() AS a;
SELECT is((a->>'suggest_active', a->>'camera_id', a->>'display_name', a->>'reason', a->>'stream_url')::text,
    '(true,t_5,Gate,hazard.fire,wss://camserver/stream/t_5)', 'the answer says what and why') FROM shown;
SELECT ok((a->>'score')::numeric BETWEEN 98 AND 100, 'with the score') FROM shown;
SELECT matches(a->>'expires_at', 'Z$', 'and the end') FROM shown;
SELECT pg_temp.later(10) \g /dev/null
SELECT ok((camserver.suggest_get()->>'score')::numeric BETWEEN 88 AND 90, 'the score loses 1 a second');

-- The same camera.
SELECT is(camserver.suggest_offer('t_5', 80), 'kept', 'a lower score on the same camera changes nothing');
SELECT is(pg_temp.left_sec(), 50, 'nor the end');
SELECT is(camserver.suggest_offer('t_5', 120, false, 'again'), 'raised', 'a higher one raises it');
SELECT is(pg_temp.left_sec(), 50, 'but not the end');
SELECT is(camserver.suggest_get()->>'reason', 'again', 'and gives its reason');
SELECT is(camserver.suggest_offer('t_5', 60, true, 'hazard'), 'extended', 'a hazard on the same camera extends it');
SELECT is(pg_temp.left_sec(), 60, 'to 60 s from now');
SELECT ok((camserver.suggest_get()->>'score')::numeric > 115, 'and never lowers the score');
SELECT is(camserver.suggest_get()->>'reason', 'again', 'so that the reason stays, too');

-- Another camera, at 1.2 times the score of now.
SELECT pg_temp.nothing() \g /dev/null
SELECT camserver.suggest_offer('t_5', 100) \g /dev/null
SELECT is(camserver.suggest_offer('t_1', 5 * 118), 'weak', '118 against 100 is not enough');
SELECT is(pg_temp.shown(), 't_5', 'the suggestion stays');
SELECT is(camserver.suggest_offer('t_1', 5 * 120), 'switched', '120 against 100 is');
SELECT is(pg_temp.shown(), 't_1', 'the suggestion moves');
SELECT is(pg_temp.left_sec(), 60, 'for 60 s again');
SELECT is(camserver.suggest_offer('t_5', 130, true), 'weak', 'a hazard elsewhere needs the score as well');
SELECT pg_temp.later(50) \g /dev/null
SELECT is(camserver.suggest_offer('t_5', 86), 'switched', '50 s later 84 are enough, since 120 has become 70');
SELECT pg_temp.nothing() \g /dev/null
SELECT camserver.suggest_offer('t_5', 51) \g /dev/null
SELECT pg_temp.later(40) \g /dev/null
SELECT is(camserver.suggest_offer('t_1', 5 * 40), 'weak', 'what could not start cannot take over');

-- The end and the pause.
SELECT pg_temp.nothing() \g /dev/null
SELECT camserver.suggest_offer('t_5', 100) \g /dev/null
SELECT pg_temp.later(59) \g /dev/null
SELECT is(pg_temp.shown(), 't_5', 'after 59 s it is there');
SELECT pg_temp.later(1) \g /dev/null
SELECT is(camserver.suggest_get(), '{"suggest_active":false}', 'after 60 s it is not');
SELECT is(camserver.suggest_offer('t_5', 500), 'pause', 'then there is a pause, for the same camera');
SELECT is(camserver.suggest_offer('t_10', 500, true), 'pause', 'for others and for hazards');
SELECT pg_temp.later(9) \g /dev/null
SELECT is(camserver.suggest_offer('t_10', 500), 'pause', '9 s later, too');
SELECT pg_temp.later(1) \g /dev/null
SELECT is(camserver.suggest_offer('t_10', 500), 'started', 'after 10 s a suggestion may start');
SELECT is(camserver.suggest_clear(), true, 'an operator ends it');
SELECT is(camserver.suggest_get()->>'suggest_active', 'false', 'at once');
SELECT is(camserver.suggest_clear(), false, 'once');
SELECT is(camserver.suggest_offer('t_10', 500), 'pause', 'which starts the pause');
SELECT camserver.setting_set('suggest_pause_sec', '0') \g /dev/null
SELECT camserver.setting_set('suggest_start_score', '200') \g /dev/null
SELECT is(camserver.suggest_offer('t_5', 199), 'weak', 'the settings count');
SELECT is(camserver.suggest_offer('t_5', 200), 'started', 'each of them');

-- What it costs: more than the reserve only when more users look than were planned for, and only on its server.
SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 'default'), 35,
    'nobody looks: the reserve counts');
UPDATE camserver.suggest_state SET active_ui_users = 10;
SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 'default'), 35,
    '10 users are within max_ui_users');
UPDATE camserver.suggest_state SET active_ui_users = 14;
SELECT is((SELECT (suggest_reserved, suggest_used, modal_budget)::text FROM camserver.budget WHERE stream_server_id =
    'default'),
    '(10,14,31)', '14 users take 4 more');
SELECT is((SELECT (suggest_used, modal_budget)::text FROM camserver.budget WHERE stream_server_id = 't_s2'), '(0,35)',
    'not from a server that does not show the camera');
SELECT is((SELECT (s->>'modal_budget', s->>'suggest_units')::text FROM
    jsonb_array_elements(camserver.system_status()->'servers') s
    WHERE s->>'stream_server_id' = 'default'), '(31,14)', 'the status agrees');
UPDATE camserver.suggest_state SET active_ui_users = 45;
SELECT is(camserver.lease_acquire('u1', 't_5')->>'outcome', 'OVER_CAPACITY',
    'with 45 users the suggestion takes all of it');
SELECT is(camserver.lease_acquire('u1', 't_10')->>'outcome', 'GRANTED', 'elsewhere there is room');
SELECT pg_temp.later(60) \g /dev/null
SELECT is((SELECT modal_budget FROM camserver.budget WHERE stream_server_id = 'default'), 35,
    'when it ends the budget is back');
SELECT is(camserver.lease_acquire('u2', 't_5')->>'outcome', 'GRANTED', 'and grants');

-- A suggested camera that goes away.
SELECT camserver.setting_set('suggest_start_score', '50') \g /dev/null
SELECT is(camserver.suggest_offer('t_1', 5 * 100), 'started', 'a suggestion');
DELETE FROM camserver.cameras WHERE camera_id = 't_1';
SELECT is(camserver.suggest_get()->>'suggest_active', 'false', 'ends when its camera is deleted');
SELECT is(camserver.system_status()->>'suggest_active', 'false', 'as the status says, too');

SELECT * FROM finish();
ROLLBACK;
