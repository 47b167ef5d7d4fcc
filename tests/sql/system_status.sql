-- system_status: the specified fields over all servers, and what is healthy.
BEGIN;
SELECT plan(21);

CREATE FUNCTION pg_temp.sample(p_host text, p_level text, p_cpu numeric, p_memory numeric,
    p_age_sec integer DEFAULT 0) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO camserver.system_health VALUES (p_host, 1, clock_timestamp() - make_interval(secs => p_age_sec), NULL,
        p_cpu, p_memory,
        12.5, p_level, p_level = 'overload', NULL, NULL)
    ON CONFLICT (host) DO UPDATE SET sampled_at = excluded.sampled_at, level = excluded.level,
        overloaded = excluded.overloaded,
        cpu_percent = excluded.cpu_percent, memory_percent = excluded.memory_percent $$;
CREATE FUNCTION pg_temp.health() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', a->>'healthy', a->>'level') FROM camserver.system_status() a $$;

UPDATE camserver.stream_servers SET host = 'h1' WHERE stream_server_id = 'default';
DELETE FROM camserver.stream_servers WHERE stream_server_id <> 'default';
SELECT camserver.camera_set('t_cam') \g /dev/null

SELECT is(pg_temp.health(), 'false stale', 'without any sample it is not healthy');
SELECT is(camserver.system_status()->>'cpu_percent', NULL, 'and the load is not known');
SELECT pg_temp.sample('h1', 'normal', 45.2, 62.1) \g /dev/null
SELECT is(pg_temp.health(), 'true normal', 'a fresh normal sample is healthy');
SELECT camserver.lease_acquire('u' || i, 't_cam') FROM generate_series(1, 3) i \g /dev/null
CREATE TEMP TABLE status AS SELECT camserver.system_status('user:x') AS a;
SELECT is(jsonb_build_object('healthy', a->'healthy', 'cpu_percent', a->'cpu_percent', 'memory_percent',
    a->'memory_percent',
    'active_modals', a->'active_modals', 'modal_budget_remaining', a->'modal_budget_remaining', 'suggest_active',
        a->'suggest_active'),
    '{"healthy":true,"cpu_percent":45.2,"memory_percent":62.1,"active_modals":3,
    "modal_budget_remaining":32,"suggest_active":false}',
    'the fields of the specification, in its types') FROM status;
SELECT is((a->>'modal_budget', a->>'modal_usage', a->>'swap_mb', a->>'active_ui_users')::text, '(35,3,12.5,0)',
    'and the further numbers') FROM status;
SELECT matches(a->>'time', '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$', 'and the time') FROM status;
SELECT is((SELECT (s->>'stream_server_id', s->>'host', s->>'level', s->>'active_modals', s->>'modal_usage',
    s->>'modal_budget',
    s->>'total_units', s->>'baseline_units', s->>'suggest_units')::text FROM jsonb_array_elements(a->'servers') s),
    '(default,h1,normal,3,3,35,50,5,10)', 'each server by itself') FROM status;
SELECT camserver.suggest_offer('t_cam', 100) \g /dev/null
SELECT is((camserver.system_status()->>'suggest_active')::boolean, true, 'suggest_active');

SELECT pg_temp.sample('h1', 'warning', 72, 62) \g /dev/null
SELECT is(pg_temp.health(), 'true warning', 'a warning is still healthy');
SELECT pg_temp.sample('h1', 'overload', 99, 62) \g /dev/null
SELECT is(pg_temp.health(), 'false overload', 'an overload is not');
SELECT pg_temp.sample('h1', 'normal', 10, 10, 29) \g /dev/null
SELECT is(pg_temp.health(), 'true normal', 'a sample of 29 s ago counts');
SELECT pg_temp.sample('h1', 'normal', 10, 10, 31) \g /dev/null
SELECT is(pg_temp.health(), 'false stale', 'one of 31 s ago does not');
SELECT pg_temp.sample('h1', 'overload', 99, 10, 31) \g /dev/null
SELECT is(pg_temp.health(), 'false stale', 'not even an overload');
SELECT is((SELECT level FROM camserver.health WHERE host = 'h1'), 'stale', 'as the view says');

-- Two servers: sums, and the worst host.
SELECT camserver.stream_server_set('t_b', '{"host":"h2","total_units":25}') \g /dev/null
SELECT camserver.camera_set('t_cb', '{"stream_server_id":"t_b"}') \g /dev/null
SELECT camserver.lease_acquire('b1', 't_cb', 'main') \g /dev/null
SELECT pg_temp.sample('h1', 'normal', 20, 70) \g /dev/null
SELECT pg_temp.sample('h2', 'warning', 71, 30) \g /dev/null
SELECT is(pg_temp.health(), 'true warning', 'the worst host''s level');
SELECT is((a->>'cpu_percent', a->>'memory_percent', a->>'active_modals', a->>'modal_budget', a->>'modal_usage',
    a->>'modal_budget_remaining')::text,
    '(71,70,4,45,5,40)', 'the worst load and the sums') FROM camserver.system_status() a;
SELECT is((SELECT array_agg(s->>'stream_server_id') FROM jsonb_array_elements(camserver.system_status()->'servers') s),
    ARRAY['default', 't_b'],
    'both servers, in order');
SELECT pg_temp.sample('h2', 'overload', 99, 30) \g /dev/null
SELECT is(pg_temp.health(), 'false overload', 'one overloaded host is not healthy');
SELECT pg_temp.sample('h1', 'normal', 20, 70, 60) \g /dev/null
SELECT is(pg_temp.health(), 'false overload', 'overload says more than stale');
SELECT pg_temp.sample('h2', 'normal', 9, 30) \g /dev/null
SELECT is(pg_temp.health(), 'false stale', 'one stale host is not healthy');

-- A budget that was lowered below what is used does not eat the other server's rest.
SELECT pg_temp.sample('h1', 'normal', 20, 70) \g /dev/null
SELECT camserver.stream_server_set('t_b', '{"total_units":16}') \g /dev/null
SELECT is((a->>'modal_budget', a->>'modal_usage', a->>'modal_budget_remaining')::text, '(36,5,32)',
    'the rest is each server''s own')
    FROM camserver.system_status() a;

SELECT * FROM finish();
ROLLBACK;
