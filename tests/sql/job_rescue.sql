-- job_rescue: jobs whose dispatcher is gone, or that take too long, are given back; those of a live one are not.
BEGIN;
SELECT plan(31);

DELETE FROM camserver.inference_jobs;
DELETE FROM camserver.dispatchers;
CREATE FUNCTION pg_temp.id(p_n integer) RETURNS uuid LANGUAGE sql AS $$
    SELECT ('00000000-0000-0000-0000-' || lpad(p_n::text, 12, '0'))::uuid $$;
CREATE TEMP TABLE held (n integer PRIMARY KEY, job_id bigint, token bigint);
-- Job n is claimed by dispatcher n, which registers.
CREATE FUNCTION pg_temp.claim(p_n integer, p_by integer DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM camserver.dispatcher_register(pg_temp.id(coalesce(p_by, p_n)), 'h', coalesce(p_by, p_n), 'v');
    INSERT INTO camserver.inference_jobs (camera_id, captured_at, created_at, available_at)
    VALUES ('t_cam', now(), now(), now());
    INSERT INTO held SELECT p_n, job_id, token FROM camserver.job_claim('analyze', pg_temp.id(coalesce(p_by, p_n)), 1);
END $$;
CREATE FUNCTION pg_temp.row(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT (status, attempt, last_error)::text FROM camserver.inference_jobs JOIN held USING (job_id) WHERE n = p_n $$;
CREATE FUNCTION pg_temp.silent(p_n integer, p_for interval) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.dispatchers SET last_heartbeat = clock_timestamp() - p_for WHERE pid = p_n $$;
CREATE FUNCTION pg_temp.deadline(p_n integer, p_in interval) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.inference_jobs SET deadline_at = clock_timestamp() + p_in
    WHERE job_id = (SELECT job_id FROM held WHERE n = p_n) $$;
CREATE FUNCTION pg_temp.attempt(p_n integer, p_attempt integer) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.inference_jobs SET attempt = p_attempt WHERE job_id = (SELECT job_id FROM held WHERE n = p_n) $$;
CREATE SEQUENCE pg_temp.wakes;
GRANT ALL ON SEQUENCE pg_temp.wakes TO PUBLIC;
CREATE OR REPLACE FUNCTION camserver.job_wake() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('pg_temp.wakes');
END $$;

-- Nothing to rescue.
SELECT is(camserver.job_rescue(), '{"count":0,"more":false}', 'with no job there is nothing to rescue');
SELECT pg_temp.claim(1), pg_temp.silent(1, '29 s') \g /dev/null
CREATE TEMP TABLE place AS SELECT ctid AS place FROM camserver.inference_jobs;
SELECT is(camserver.job_rescue(), '{"count":0,"more":false}', 'the job of a live dispatcher is left alone');
SELECT is((SELECT ctid FROM camserver.inference_jobs), place, 'and not written') FROM place;
SELECT is((SELECT is_called FROM pg_temp.wakes), false, 'nobody is woken');

-- A dispatcher that died, one that stopped, one that nobody knows.
SELECT pg_temp.claim(2), pg_temp.silent(2, '31 s') \g /dev/null
SELECT pg_temp.claim(3), camserver.dispatcher_stop(pg_temp.id(3)) \g /dev/null
SELECT pg_temp.claim(4) \g /dev/null
DELETE FROM camserver.dispatchers WHERE pid = 4;
SELECT is(camserver.job_rescue(), '{"count":3,"more":false}', 'jobs are rescued');
SELECT is(pg_temp.row(2), '(queued,1,"attempt 1: its dispatcher died")', 'of one that is silent for 30 s');
SELECT is(pg_temp.row(3), '(queued,1,"attempt 1: its dispatcher stopped")', 'of one that stopped');
SELECT is(pg_temp.row(4), '(queued,1,"attempt 1: its dispatcher died")', 'of one that nobody knows');
SELECT is((SELECT array_agg((locked_by, locked_token, locked_at, deadline_at, finished_at)::text) FROM
    camserver.inference_jobs JOIN held USING (job_id) WHERE n IN (2, 3, 4)), ARRAY['(,,,,)', '(,,,,)', '(,,,,)'],
    'they are nobody''s');
SELECT is(pg_temp.row(1), '(running,1,)', 'the live one''s is not among them');
SELECT is((SELECT last_value FROM pg_temp.wakes), 1::bigint, 'sleepers are looked for once');
SELECT is(camserver.job_rescue(), '{"count":0,"more":false}', 'once');

-- The token is void from then on; the next holder's is another.
SELECT pg_temp.claim(5) \g /dev/null
SELECT is((SELECT n FROM held WHERE job_id = (SELECT job_id FROM held WHERE n = 5) AND n <> 5), 2,
    'the oldest rescued job is given out first');
SELECT is(camserver.job_fail(pg_temp.id(2), (SELECT jsonb_build_array(jsonb_build_object('job_id', job_id, 'token',
    token,
    'error', 'zombie', 'delay_ms', 1, 'final', true)) FROM held WHERE n = 2))->>'fenced', '1',
    'who lost it can say nothing any more');
SELECT is(pg_temp.row(2), '(running,2,"attempt 1: its dispatcher died")', 'the second attempt runs on');

-- The job's own deadline, however alive its dispatcher is.
SELECT pg_temp.deadline(1, '10 s') \g /dev/null
SELECT is(camserver.job_rescue()->>'count', '0', 'before the deadline nothing happens');
SELECT pg_temp.deadline(1, '-1 ms') \g /dev/null
SELECT is(camserver.job_rescue()->>'count', '1', 'after it the job is given back');
SELECT is(pg_temp.row(1), '(queued,1,"attempt 1: the deadline passed")', 'with the reason');

-- The last attempt.
DELETE FROM camserver.inference_jobs;
TRUNCATE held;
SELECT pg_temp.claim(11), pg_temp.attempt(11, 7), pg_temp.silent(11, '31 s') \g /dev/null
SELECT pg_temp.claim(12), pg_temp.attempt(12, 8), pg_temp.silent(12, '31 s') \g /dev/null
SELECT pg_temp.claim(13), pg_temp.attempt(13, 8), pg_temp.deadline(13, '-1 ms') \g /dev/null
SELECT pg_temp.claim(14), pg_temp.attempt(14, 8) \g /dev/null
SELECT is(camserver.job_rescue()->>'count', '3', 'crashes count');
SELECT is(pg_temp.row(11), '(queued,7,"attempt 7: its dispatcher died")',
    'the seventh of eight attempts is not the last');
SELECT is(pg_temp.row(12), '(dead,8,"attempt 8: its dispatcher died")', 'what kills whoever touches it is dead');
SELECT is(pg_temp.row(13), '(dead,8,"attempt 8: the deadline passed")', 'and what never ends');
SELECT ok((SELECT bool_and(finished_at BETWEEN now() AND clock_timestamp()) FROM camserver.inference_jobs
    JOIN held USING (job_id) WHERE n IN (12, 13)), 'as of now');
SELECT is(pg_temp.row(14), '(running,8,)', 'a last attempt that is under way may go on');

-- States.
DELETE FROM camserver.inference_jobs;
INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at)
    SELECT s, 't_cam', now(), now(), now() FROM unnest(enum_range(NULL::camserver.job_status)) s WHERE s <> 'running';
SELECT is(camserver.job_rescue()->>'count', '0', 'only what runs is rescued');

-- Settings, batches.
DELETE FROM camserver.inference_jobs;
TRUNCATE held;
SELECT pg_temp.claim(21), pg_temp.silent(21, '5 s') \g /dev/null
SELECT camserver.setting_set('dispatcher_stale_sec', '4') \g /dev/null
SELECT is(camserver.job_rescue()->>'count', '1', 'how long silence may last is a setting');
SELECT camserver.setting_set('dispatcher_stale_sec', '30') \g /dev/null
INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at, locked_token, locked_by)
    SELECT 'running', 't_cam', now(), now(), now(), i, pg_temp.id(99) FROM generate_series(1, 1500) i;
SELECT is(camserver.job_rescue(), '{"count":1000,"more":true}', 'a thousand at a time');
SELECT is(camserver.job_rescue(), '{"count":500,"more":false}', 'then the rest');

-- It is done by the sweep 'jobs', and reads only what runs.
DELETE FROM camserver.inference_jobs;
INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at, finished_at)
    SELECT s, 't_cam', now(), now(), now(), now() FROM generate_series(1, 3000),
        unnest(ARRAY['done', 'dead', 'queued']::camserver.job_status[]) s;
ANALYZE camserver.inference_jobs;
DISCARD PLANS;
UPDATE camserver.sweeps SET next_run_at = CASE name WHEN 'jobs' THEN '-infinity' ELSE 'infinity' END::timestamptz;
CREATE FUNCTION pg_temp.tuples_read() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
    WHERE relid = 'camserver.inference_jobs'::regclass $$;
CREATE TEMP TABLE read_before AS SELECT pg_temp.tuples_read() AS n;
SELECT is(camserver.sweep_run(), '{"name":"jobs","count":0,"more":false}', 'the sweep "jobs" does it');
SELECT cmp_ok(pg_temp.tuples_read() - n, '<', 10::bigint, 'and reads none of 9000 others') FROM read_before;
SELECT ok((SELECT next_run_at <= clock_timestamp() + interval '2 s' FROM camserver.sweeps WHERE name = 'jobs'),
    'every 2 s');

SELECT * FROM finish();
ROLLBACK;
