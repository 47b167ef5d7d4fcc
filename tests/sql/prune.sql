-- prune: what is older than a day goes, the rest stays; and how little expire_run takes at a time.
BEGIN;
SELECT plan(25);
SELECT camserver.setting_set('expire_budget_ms', '1000') \g /dev/null

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

-- Without any time a call takes one slice.
SELECT camserver.setting_set('expire_budget_ms', '0') \g /dev/null
SELECT pg_temp.metrics(45, '2 h') \g /dev/null
SELECT is(camserver.prune(), '{"count":20,"more":true}', 'a slice at a time');
SELECT is(camserver.prune(), '{"count":20,"more":true}', 'and another');
SELECT is(camserver.prune(), '{"count":5,"more":true}', 'until all is gone');
SELECT is(camserver.prune(), '{"count":0,"more":false}', 'which the next call finds');
SELECT pg_temp.metrics(45, '2 h'), pg_temp.log(45, '2 h') \g /dev/null
CREATE TEMP TABLE calls AS SELECT camserver.prune() AS r FROM generate_series(1, 7);
SELECT is((SELECT array_agg(DISTINCT (r->>'count')::integer ORDER BY (r->>'count')::integer) FROM calls), ARRAY[0, 5, 20],
    'of two tables: one of them a call');
SELECT is((SELECT sum((r->>'count')::integer)::integer FROM calls), 90, 'and none is left out');
SELECT camserver.setting_set('expire_slice_rows', '7') \g /dev/null
SELECT pg_temp.metrics(10, '2 h') \g /dev/null
SELECT is(camserver.prune()->>'count', '7', 'how much a slice is is a setting');

-- And however much time there is, it takes no more than the most.
SELECT camserver.setting_set('expire_budget_ms', '1000'), camserver.setting_set('expire_slice_rows', '300') \g /dev/null
SELECT is(camserver.prune()->>'count', '3', 'the rest, with time');
SELECT pg_temp.metrics(1001, '2 h') \g /dev/null
SELECT is(camserver.expire_run(ARRAY[camserver.expire_rows('camserver.admission_metrics', 'recorded_at < clock_timestamp() - interval ''1 h''')]) - 'ids',
    '{"count":1000,"more":true}', 'a thousand rows a call at most');
SELECT is(camserver.prune(), '{"count":1,"more":false}', 'and then the last');

-- Jobs that are over, but not the dead ones: those wait for somebody to look at them.
DELETE FROM camserver.inference_jobs;
CREATE FUNCTION pg_temp.jobs(p_n integer, p_age interval, p_status text DEFAULT 'done') RETURNS void LANGUAGE sql AS $$
    INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at, finished_at,
    locked_token)
    SELECT p_status::camserver.job_status, 't_cam', now() - p_age, now() - p_age, now() - p_age,
        CASE WHEN p_status IN ('done', 'dead', 'cancelled') THEN clock_timestamp() - p_age END,
        CASE p_status WHEN 'running' THEN 1 END FROM generate_series(1, p_n) $$;
CREATE FUNCTION pg_temp.jobs_left() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(n || ' ' || status, ', ' ORDER BY status) FROM (
        SELECT status, count(*) AS n FROM camserver.inference_jobs GROUP BY status) s $$;
SELECT pg_temp.jobs(1, '30 d', s::text) FROM unnest(enum_range(NULL::camserver.job_status)) s \g /dev/null
SELECT pg_temp.jobs(2, '24 h 1 s'), pg_temp.jobs(3, '23 h 59 min'), pg_temp.jobs(4, '23 h 59 min',
    'cancelled') \g /dev/null
SELECT is(camserver.prune(), '{"count":4,"more":false}', 'done and cancelled jobs go after 24 h');
SELECT is(pg_temp.jobs_left(), '1 queued, 1 waiting, 1 running, 3 done, 1 dead, 4 cancelled',
    'not the newer ones, and nothing that is not over; dead ones stay');
SELECT is(camserver.prune(), '{"count":0,"more":false}', 'once');
SELECT camserver.setting_set('job_keep_hours', '1') \g /dev/null
SELECT is(camserver.prune()->>'count', '7', 'the keeping time is a setting');
SELECT camserver.camera_set('t_cam') \g /dev/null
INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes)
    VALUES ('00000000-0000-0000-0000-000000000001', 't_cam', now(), now(), 1);
SELECT pg_temp.jobs(1, '2 h') \g /dev/null
UPDATE camserver.inference_jobs SET frame_id = (SELECT frame_id FROM camserver.frames
    WHERE frame_uuid = '00000000-0000-0000-0000-000000000001') WHERE status = 'done';
SELECT is(camserver.prune()->>'count', '1', 'a frame''s job goes');
SELECT is((SELECT count(*)::integer FROM camserver.frames WHERE frame_uuid = '00000000-0000-0000-0000-000000000001'), 1,
    'without its frame');
SELECT pg_temp.jobs(5000, '10 min') \g /dev/null
ANALYZE camserver.inference_jobs;
DISCARD PLANS;
CREATE FUNCTION pg_temp.tuples_read() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
    WHERE relid = 'camserver.inference_jobs'::regclass $$;
CREATE TEMP TABLE read_before AS SELECT pg_temp.tuples_read() AS n;
SELECT is(camserver.prune()->>'count', '0', 'with 5000 jobs that stay');
SELECT cmp_ok(pg_temp.tuples_read() - n, '<', 100::bigint, 'none of them is read') FROM read_before;

SELECT * FROM finish();
ROLLBACK;
