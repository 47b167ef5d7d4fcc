-- counters_report and metrics_record: absolute values of each host, counted once whatever is repeated.
BEGIN;
SELECT plan(20);

CREATE FUNCTION pg_temp.total(p_name text, p_host text DEFAULT 'h1') RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(value)::bigint FROM camserver.host_counters WHERE host = p_host AND name = p_name $$;
DELETE FROM camserver.host_counters;

SELECT camserver.counters_report('h1', 'A', '{"lease_granted":5,"lease_refused_over_capacity":2,"requests":20}')
    \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 5::bigint, 'a first report');
SELECT camserver.counters_report('h1', 'A', '{"lease_granted":5,"lease_refused_over_capacity":2,"requests":20}')
    \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 5::bigint, 'repeated, counts once');
CREATE TEMP TABLE at AS SELECT name, ctid AS place FROM camserver.host_counters;
SELECT camserver.counters_report('h1', 'A', '{"lease_granted":5,"requests":20}') \g /dev/null
SELECT results_eq('SELECT name, ctid FROM camserver.host_counters ORDER BY 1', 'SELECT name, place FROM at ORDER BY 1',
    'and writes nothing');
SELECT camserver.counters_report('h1', 'A', '{"lease_granted":9}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 9::bigint, 'the next report adds the difference');
SELECT is(pg_temp.total('requests'), 20::bigint, 'of what it names');
SELECT camserver.counters_report('h1', 'A', '{"lease_granted":7}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 9::bigint, 'a late report with lower values is ignored');
SELECT camserver.counters_report('h1', 'A', '{"lease_granted":10}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 10::bigint, 'and does no harm to the next');

-- A new life of the shared memory.
SELECT camserver.counters_report('h1', 'B', '{"lease_granted":3}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 13::bigint, 'a new epoch adds from 0');
SELECT camserver.counters_report('h1', 'B', '{"lease_granted":3}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 13::bigint, 'once');
SELECT camserver.counters_report('h1', 'B', '{"lease_granted":4}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 14::bigint, 'and goes on from there');
SELECT camserver.counters_report('h1', 'C', '{"lease_granted":0}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 14::bigint, 'an epoch without counts adds nothing');
SELECT camserver.counters_report('h1', 'C', '{"lease_granted":1}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 15::bigint, 'until it has some');
-- Two dispatchers that still map different files, as during an upgrade, report in turn.
SELECT camserver.counters_report('h1', 'B', '{"lease_granted":4}') \g /dev/null
SELECT camserver.counters_report('h1', 'C', '{"lease_granted":1}') \g /dev/null
SELECT is(pg_temp.total('lease_granted'), 15::bigint, 'a late report of an earlier epoch counts nothing twice');

SELECT camserver.counters_report('h2', 'A',
    '{"lease_granted":100,"lease_refused_system_overload":1,"lease_refused_over_capacity":3}') \g /dev/null
SELECT is((pg_temp.total('lease_granted', 'h2'))::bigint, 100::bigint, 'another host counts for itself');
SELECT throws_ok($$SELECT camserver.counters_report('h1', 'A', '{"x":"many"}')$$, '22P02', NULL, 'a count is a number');
SELECT results_eq('SELECT reason, refused FROM camserver.refusals ORDER BY 1', $$VALUES ('OVER_CAPACITY', 5::bigint),
    ('SYSTEM_OVERLOAD', 1)$$,
    'refusals by reason over all hosts');

-- metrics_record.
DELETE FROM camserver.admission_metrics;
UPDATE camserver.stream_servers SET host = 'h1' WHERE stream_server_id = 'default';
DELETE FROM camserver.stream_servers WHERE stream_server_id <> 'default';
SELECT is(camserver.metrics_record(), '{"count":1,"more":false}', 'a row is recorded also before any sample');
SELECT is((SELECT (cpu_percent, memory_percent)::text FROM camserver.admission_metrics), '(0.00,0.00)',
    'with a load of 0');
DELETE FROM camserver.admission_metrics;
DELETE FROM camserver.host_counters WHERE host = 'h1' AND name = 'lease_granted';
SELECT camserver.counters_report('h1', 'Z', '{"lease_granted":15}') \g /dev/null
SELECT camserver.health_report(NULL, 'h1', 0, 12.34, 56.78, 0, 'normal', false, false, NULL) \g /dev/null
SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.lease_acquire('u1', 't_cam', 'main'), camserver.suggest_offer('t_cam', 100) \g /dev/null
SELECT camserver.metrics_record() \g /dev/null
SELECT is((SELECT (active_modals, active_suggest, cpu_percent, memory_percent, requests_total, rejections_total,
    units_used, modal_budget)::text
    FROM camserver.admission_metrics), '(1,t,12.34,56.78,121,6,2,35)', 'the state of admission, requests and refusals');
SELECT ok((SELECT recorded_at > clock_timestamp() - interval '5 s' FROM camserver.admission_metrics), 'at this time');

SELECT * FROM finish();
ROLLBACK;
