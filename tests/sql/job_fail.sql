-- job_fail: an attempt came to nothing; the job waits, or dies, or the attempt does not count; a stale one changes
-- nothing.
BEGIN;
SELECT plan(41);

DELETE FROM camserver.inference_jobs;
DELETE FROM camserver.dispatchers;
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
SELECT camserver.dispatcher_register(:d1, 'h', 1, 'v') \g /dev/null
-- Jobs under numbers of ours; those that are claimed have their token here.
CREATE TEMP TABLE held (n integer PRIMARY KEY, job_id bigint, token bigint);
CREATE FUNCTION pg_temp.claim(p_n integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_job bigint;
BEGIN
    INSERT INTO camserver.inference_jobs (camera_id, captured_at, created_at, available_at)
    VALUES ('t_cam', now(), now(), now()) RETURNING job_id INTO v_job;
    INSERT INTO held SELECT p_n, job_id, token FROM camserver.job_claim('analyze',
        '00000000-0000-0000-0000-0000000000d1', 1);
END $$;
-- Fails job n; whatever else the element says.
CREATE FUNCTION pg_temp.element(p_n integer, p_more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('job_id', job_id, 'token', token, 'error', 'broken', 'delay_ms', 5000, 'final', false,
        'refund', false) || p_more FROM held WHERE n = p_n $$;
CREATE FUNCTION pg_temp.fail(VARIADIC p_elements jsonb[]) RETURNS jsonb LANGUAGE sql AS $$
    SELECT camserver.job_fail('00000000-0000-0000-0000-0000000000d1', to_jsonb(p_elements)) $$;
CREATE FUNCTION pg_temp.row(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT (status, attempt, last_error)::text FROM camserver.inference_jobs JOIN held USING (job_id) WHERE n = p_n $$;
CREATE FUNCTION pg_temp.set(p_n integer, p_attempt integer, p_max integer) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.inference_jobs SET attempt = p_attempt, max_attempt = p_max
    WHERE job_id = (SELECT job_id FROM held WHERE n = p_n) $$;

-- It waits.
SELECT pg_temp.claim(1) \g /dev/null
CREATE TEMP TABLE start AS SELECT clock_timestamp() AS before;
SELECT is(pg_temp.fail(pg_temp.element(1)), '{"waiting":1,"dead":0,"fenced":0}', 'a failed attempt');
SELECT is(pg_temp.row(1), '(waiting,1,broken)', 'its job waits, the attempt counts, the error is kept');
SELECT ok((SELECT available_at BETWEEN before + interval '5 s' AND clock_timestamp() + interval '5 s'
    FROM camserver.inference_jobs, start), 'for the delay');
SELECT is((SELECT (locked_by, locked_token, locked_at, deadline_at, finished_at)::text FROM camserver.inference_jobs),
    '(,,,,)', 'and is nobody''s');
SELECT is(pg_temp.fail(pg_temp.element(1)), '{"waiting":0,"dead":0,"fenced":1}', 'told twice, the second is refused');
SELECT is(pg_temp.row(1), '(waiting,1,broken)', 'and changes nothing');
SELECT is((SELECT count(*)::integer FROM camserver.job_claim('analyze', :d1, 9)), 0,
    'it is not given out before its time');
UPDATE camserver.inference_jobs SET available_at = clock_timestamp();
CREATE TEMP TABLE second AS SELECT * FROM camserver.job_claim('analyze', :d1, 9);
SELECT is((SELECT (s.job_id = h.job_id, s.token > h.token, s.attempt)::text FROM second s, held h), '(t,t,2)',
    'then it is, with a new token, as the second attempt');

-- A stale token.
SELECT is(pg_temp.fail(pg_temp.element(1, '{"error":"zombie","final":true}')), '{"waiting":0,"dead":0,"fenced":1}',
    'the first attempt''s token is refused');
SELECT is((SELECT (j.status, j.attempt, j.last_error, j.locked_token = s.token)::text FROM camserver.inference_jobs j
    JOIN second s USING (job_id)), '(running,2,broken,t)', 'and does not touch the second attempt');
SELECT is(pg_temp.fail(pg_temp.element(1) - 'token'), '{"waiting":0,"dead":0,"fenced":1}', 'no token is refused');
SELECT is(pg_temp.fail(pg_temp.element(1, '{"job_id":9223372036854775807}')), '{"waiting":0,"dead":0,"fenced":1}',
    'a job that does not exist is refused');
UPDATE held SET token = second.token FROM second WHERE n = 1;

-- Attempts run out.
SELECT pg_temp.set(1, 7, 8) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(1)), '{"waiting":1,"dead":0,"fenced":0}', 'the seventh of eight attempts');
SELECT is(pg_temp.row(1), '(waiting,7,broken)', 'leaves one');
SELECT pg_temp.claim(2), pg_temp.set(2, 8, 8) \g /dev/null
CREATE TEMP TABLE last_before AS SELECT available_at FROM camserver.inference_jobs JOIN held USING (job_id) WHERE n = 2;
SELECT is(pg_temp.fail(pg_temp.element(2, '{"error":"for ever"}')), '{"waiting":0,"dead":1,"fenced":0}', 'the eighth');
SELECT is(pg_temp.row(2), '(dead,8,"for ever")', 'leaves none');
SELECT ok((SELECT j.finished_at BETWEEN now() AND clock_timestamp() AND j.available_at = l.available_at AND locked_token
    IS NULL AND locked_by IS NULL AND deadline_at IS NULL FROM camserver.inference_jobs j JOIN held USING (job_id),
    last_before l WHERE n = 2), 'it is over now');
SELECT is((SELECT count(*)::integer FROM camserver.job_claim('analyze', :d1, 9)), 0, 'and never given out again');
SELECT pg_temp.claim(3), pg_temp.set(3, 12, 8) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(3))->>'dead', '1', 'one beyond its attempts dies, too');

-- Final.
SELECT pg_temp.claim(4) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(4, '{"final":true,"delay_ms":0,"error":"bad image"}')),
    '{"waiting":0,"dead":1,"fenced":0}', 'a final failure');
SELECT is(pg_temp.row(4), '(dead,1,"bad image")', 'is the end whatever attempts are left');
SELECT pg_temp.claim(5) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(5, '{"final":true}') - 'delay_ms' - 'refund')->>'dead', '1',
    'it needs no delay');

-- Refund.
SELECT pg_temp.claim(6), pg_temp.set(6, 3, 8) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(6, '{"refund":true,"delay_ms":300}')), '{"waiting":1,"dead":0,"fenced":0}',
    'a job that is given back');
SELECT is(pg_temp.row(6), '(waiting,2,broken)', 'gets its attempt back');
SELECT pg_temp.claim(7), pg_temp.set(7, 8, 8) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(7, '{"refund":true}')), '{"waiting":1,"dead":0,"fenced":0}',
    'also from the last attempt');
SELECT is(pg_temp.row(7), '(waiting,7,broken)', 'which is not used up');
SELECT pg_temp.claim(8) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(8, '{"refund":true,"delay_ms":0}')), '{"waiting":1,"dead":0,"fenced":0}',
    'without a delay');
SELECT is(pg_temp.row(8), '(queued,0,broken)', 'it is queued at once');
SELECT is((SELECT array_agg(n) FROM camserver.job_claim('analyze', :d1, 9) JOIN held USING (job_id)), ARRAY[8],
    'and given out again');
SELECT pg_temp.claim(9), pg_temp.set(9, 3, 8) \g /dev/null
SELECT is(pg_temp.fail(pg_temp.element(9, '{"refund":true,"final":true}'))->>'dead', '1', 'final is final');

-- Several at once.
SELECT is(camserver.job_fail(:d1, '[]'), '{"waiting":0,"dead":0,"fenced":0}', 'none');
SELECT pg_temp.claim(i) FROM generate_series(21, 26) i \g /dev/null
SELECT pg_temp.set(23, 8, 8) \g /dev/null
CREATE TEMP TABLE untouched AS SELECT j.ctid AS place FROM camserver.inference_jobs j JOIN held USING (job_id)
    WHERE n IN (25, 26);
SELECT is(pg_temp.fail(pg_temp.element(24, '{"final":true}'), pg_temp.element(22, '{"error":"twenty-two"}'),
    pg_temp.element(25, '{"token":1}'), pg_temp.element(21), pg_temp.element(23), pg_temp.element(1)),
    '{"waiting":2,"dead":2,"fenced":2}', 'each element has its own fate, and is counted');
SELECT is((SELECT array_agg(pg_temp.row(n) ORDER BY n) FROM held WHERE n BETWEEN 21 AND 24),
    ARRAY['(waiting,1,broken)', '(waiting,1,twenty-two)', '(dead,8,broken)', '(dead,1,broken)'], 'as it was told');
SELECT is((SELECT count(*)::integer FROM untouched JOIN camserver.inference_jobs j ON j.ctid = place
    WHERE status = 'running'), 2, 'those refused or not named are not written');
SELECT is(pg_temp.fail(pg_temp.element(25), pg_temp.element(25)), '{"waiting":1,"dead":0,"fenced":1}',
    'the same one twice counts once');

-- What it is given.
SELECT is(pg_temp.fail(pg_temp.element(26, jsonb_build_object('error', repeat('x', 5000))))->>'waiting', '1',
    'a long error');
SELECT is((SELECT length(last_error) FROM camserver.inference_jobs JOIN held USING (job_id) WHERE n = 26), 2000,
    'is cut');
SELECT pg_temp.claim(27) \g /dev/null
SELECT throws_ok($$SELECT pg_temp.fail(pg_temp.element(27, '{"delay_ms":"soon"}'))$$, '22P02', NULL,
    'nonsense is an error');
SELECT is(pg_temp.row(27), '(running,1,)', 'and changes nothing');

-- Kinds make no difference.
INSERT INTO camserver.inference_jobs (kind, camera_id, captured_at, created_at, available_at)
    VALUES ('notify', 't_cam', now(), now(), now());
INSERT INTO held SELECT 28, job_id, token FROM camserver.job_claim('notify', :d1, 1);
SET LOCAL ROLE camserver_dispatcher;
SELECT is(camserver.job_fail(:d1, '[]'), '{"waiting":0,"dead":0,"fenced":0}', 'the dispatcher''s role may call it');
RESET ROLE;
SELECT is(pg_temp.fail(pg_temp.element(28))->>'waiting', '1', 'jobs of every kind may fail');

SELECT * FROM finish();
ROLLBACK;
