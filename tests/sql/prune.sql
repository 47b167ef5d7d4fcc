-- prune: what is older than a day goes, the rest stays.
BEGIN;
SELECT plan(13);

DELETE FROM camserver.admission_metrics;
DELETE FROM camserver.modal_lease_log;
DELETE FROM camserver.dispatchers;
CREATE FUNCTION pg_temp.metrics(p_n integer, p_age interval) RETURNS void LANGUAGE sql AS $$
    INSERT INTO camserver.admission_metrics (recorded_at, active_modals, active_suggest, cpu_percent, memory_percent,
    requests_total,
    rejections_total, units_used, modal_budget, active_ui_users)
    SELECT clock_timestamp() - p_age, 0, false, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, p_n) $$;
CREATE FUNCTION pg_temp.log(p_n integer, p_age interval) RETURNS void LANGUAGE sql AS $$
    INSERT INTO camserver.modal_lease_log SELECT gen_random_uuid(), 'u', 'c', 'sub',
        clock_timestamp() - p_age - interval '5 min',
        clock_timestamp() - p_age, 'ttl' FROM generate_series(1, p_n) $$;

SELECT is(camserver.prune(), '{"count":0,"more":false}', 'nothing to forget');
SELECT pg_temp.metrics(3, '24 h 1 s'), pg_temp.metrics(2, '23 h 59 min'), pg_temp.log(4, '24 h 1 s'), pg_temp.log(1,
    '23 h 59 min') \g /dev/null
INSERT INTO camserver.dispatchers VALUES (gen_random_uuid(), 'h', 1, 'v', now() - interval '9 d',
    now() - interval '25 h', NULL),
    (gen_random_uuid(), 'h', 2, 'v', now() - interval '9 d', now() - interval '1 s', NULL);
SELECT is(camserver.prune(), '{"count":8,"more":false}', 'what is older than 24 h goes');
SELECT is((SELECT count(*)::integer FROM camserver.admission_metrics), 2, 'newer metrics stay');
SELECT is((SELECT count(*)::integer FROM camserver.modal_lease_log), 1, 'newer ends of leases stay');
SELECT is((SELECT array_agg(pid) FROM camserver.dispatchers), ARRAY[2], 'a dispatcher that lives stays, however old');
SELECT is(camserver.prune(), '{"count":0,"more":false}', 'once');

SELECT camserver.setting_set('metrics_keep_hours', '1') \g /dev/null
SELECT is(camserver.prune()->>'count', '3', 'the keeping time is a setting');
SELECT pg_temp.metrics(5001, '2 h') \g /dev/null
SELECT is(camserver.prune(), '{"count":5000,"more":true}', 'a batch at a time');
SELECT is(camserver.prune(), '{"count":1,"more":false}', 'until all is gone');
SELECT pg_temp.log(5000, '2 h') \g /dev/null
SELECT is(camserver.prune()->>'more', 'true', 'also of the log');
SELECT is(camserver.prune(), '{"count":0,"more":false}', 'the last batch was the whole rest');

-- It mends usage on the way.
SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.lease_acquire('u1', 't_cam') \g /dev/null
DELETE FROM camserver.modal_leases;
SELECT is(camserver.prune()->>'count', '1', 'usage that a hand edit left wrong is mended');
SELECT is((SELECT units_used FROM camserver.stream_usage WHERE stream_server_id = 'default'), 0, 'and right again');

SELECT * FROM finish();
ROLLBACK;
