-- job_retry and job_cancel: what an operator may do with a job in each state.
BEGIN;
SELECT plan(28);

DELETE FROM camserver.inference_jobs;
DELETE FROM camserver.dispatchers;
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
SELECT camserver.dispatcher_register(:d1, 'h', 1, 'v') \g /dev/null
-- One job in each state, named by it.
CREATE TEMP TABLE named (name text PRIMARY KEY, job_id bigint);
CREATE FUNCTION pg_temp.reset() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_status camserver.job_status;
    v_job bigint;
BEGIN
    DELETE FROM camserver.inference_jobs;
    TRUNCATE named;
    FOREACH v_status IN ARRAY enum_range(NULL::camserver.job_status) LOOP
        INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, attempt, created_at, available_at,
        locked_by,
            locked_token, locked_at, deadline_at, finished_at, last_error)
        VALUES (v_status, 't_cam', now(), 4, now(), now() + interval '1 h',
            CASE v_status WHEN 'running' THEN '00000000-0000-0000-0000-0000000000d1'::uuid END,
            CASE v_status WHEN 'running' THEN 77 END, CASE v_status WHEN 'running' THEN now() END,
            CASE v_status WHEN 'running' THEN now() + interval '1 min' END,
            CASE WHEN v_status IN ('done', 'dead', 'cancelled') THEN now() END, 'before')
        RETURNING job_id INTO v_job;
        INSERT INTO named VALUES (v_status, v_job);
    END LOOP;
END $$;
CREATE FUNCTION pg_temp.retry(p_name text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.job_retry(job_id) - 'job_id' FROM named WHERE name = p_name $$;
CREATE FUNCTION pg_temp.cancel(p_name text) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.job_cancel(job_id) - 'job_id' FROM named WHERE name = p_name $$;
CREATE FUNCTION pg_temp.row(p_name text) RETURNS text LANGUAGE sql AS $$
    SELECT (status, attempt, last_error, locked_by, locked_token, locked_at, deadline_at)::text
    FROM camserver.inference_jobs JOIN named USING (job_id) WHERE name = p_name $$;
CREATE FUNCTION pg_temp.places() RETURNS tid[] LANGUAGE sql AS $$
    SELECT array_agg(ctid ORDER BY ctid) FROM camserver.inference_jobs $$;
CREATE SEQUENCE pg_temp.wakes;
GRANT ALL ON SEQUENCE pg_temp.wakes TO PUBLIC;
CREATE OR REPLACE FUNCTION camserver.job_wake() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('pg_temp.wakes');
END $$;

-- Retry.
SELECT pg_temp.reset() \g /dev/null
SELECT is(camserver.job_retry(9223372036854775807), '{"outcome":"UNKNOWN_JOB"}', 'retry: a job that does not exist');
SELECT is(camserver.job_retry(NULL), '{"outcome":"UNKNOWN_JOB"}', 'retry: none');
CREATE TEMP TABLE place AS SELECT pg_temp.places() AS places;
SELECT is(pg_temp.retry('queued'), '{"outcome":"JOB_STATE","status":"queued"}', 'retry: one that is queued');
SELECT is(pg_temp.retry('running'), '{"outcome":"JOB_STATE","status":"running"}', 'retry: one that runs');
SELECT is(pg_temp.retry('done'), '{"outcome":"JOB_STATE","status":"done"}', 'retry: one that is done');
SELECT is(pg_temp.places(), places, 'a refusal writes nothing') FROM place;
SELECT is((SELECT is_called FROM pg_temp.wakes), false, 'and wakes nobody');
SELECT is(camserver.job_retry(job_id), jsonb_build_object('outcome', 'OK', 'job_id', job_id, 'status', 'queued'),
    'retry: one that is dead') FROM named WHERE name = 'dead';
SELECT is(pg_temp.row('dead'), '(queued,0,before,,,,)', 'gets all its attempts again, and keeps its last error');
SELECT ok((SELECT finished_at IS NULL AND available_at BETWEEN now() AND clock_timestamp() FROM camserver.inference_jobs
    JOIN named USING (job_id) WHERE name = 'dead'), 'it may run now');
SELECT is((SELECT last_value FROM pg_temp.wakes), 1::bigint, 'a sleeper is looked for');
SELECT is(pg_temp.retry('cancelled'), '{"outcome":"OK","status":"queued"}', 'retry: one that was cancelled');
SELECT is(pg_temp.retry('waiting'), '{"outcome":"OK","status":"queued"}', 'retry: one that waits need not wait');
SELECT is((SELECT array_agg(name ORDER BY name) FROM camserver.job_claim('analyze', :d1, 9) JOIN named USING (job_id)),
    ARRAY['cancelled', 'dead', 'queued', 'waiting'], 'they are given out');
SELECT is(pg_temp.retry('dead'), '{"outcome":"JOB_STATE","status":"running"}', 'retry: again, while it runs');

-- Cancel.
SELECT pg_temp.reset() \g /dev/null
SELECT is(camserver.job_cancel(9223372036854775807), '{"outcome":"UNKNOWN_JOB"}', 'cancel: a job that does not exist');
TRUNCATE place;
INSERT INTO place SELECT pg_temp.places();
SELECT is(pg_temp.cancel('done'), '{"outcome":"JOB_STATE","status":"done"}', 'cancel: one that is done');
SELECT is(pg_temp.cancel('cancelled'), '{"outcome":"JOB_STATE","status":"cancelled"}',
    'cancel: one that was cancelled');
SELECT is(pg_temp.places(), places, 'a refusal writes nothing') FROM place;
SELECT is(camserver.job_cancel(job_id), jsonb_build_object('outcome', 'OK', 'job_id', job_id, 'status', 'cancelled'),
    'cancel: one that is queued') FROM named WHERE name = 'queued';
SELECT is(pg_temp.row('queued'), '(cancelled,4,"cancelled by an operator",,,,)', 'with the reason');
SELECT ok((SELECT finished_at BETWEEN now() AND clock_timestamp() FROM camserver.inference_jobs JOIN named USING
    (job_id)
    WHERE name = 'queued'), 'and the time');
SELECT is((SELECT array_agg(pg_temp.cancel(n)->>'outcome') FROM unnest(ARRAY['waiting', 'dead', 'running']) n),
    ARRAY['OK', 'OK', 'OK'], 'cancel: one that waits, is dead, or runs');
SELECT is(pg_temp.row('running'), '(cancelled,4,"cancelled by an operator",,,,)', 'one that runs is taken away');
SELECT is(camserver.job_fail(:d1, (SELECT jsonb_build_array(jsonb_build_object('job_id', job_id, 'token', 77, 'error',
    'x',
    'delay_ms', 1)) FROM named WHERE name = 'running')), '{"waiting":0,"dead":0,"fenced":1}', 'who had it is refused');
SELECT is((SELECT count(*)::integer FROM camserver.job_claim('analyze', :d1, 9)), 0, 'none of them is given out');
SELECT is(camserver.job_cancel(job_id, 'a reason')->>'outcome', 'JOB_STATE', 'not twice') FROM named WHERE name =
    'queued';
SELECT pg_temp.reset() \g /dev/null
SELECT camserver.job_cancel(job_id, 'a reason') FROM named WHERE name = 'queued' \g /dev/null
SELECT is(pg_temp.row('queued'), '(cancelled,4,"a reason",,,,)', 'the reason may be given');

SELECT * FROM finish();
ROLLBACK;
