-- job_claim: which jobs, in which order, with which tokens; what waits comes back when it is due; what is too old goes.
BEGIN;
SELECT plan(59);

DELETE FROM camserver.inference_jobs;
DELETE FROM camserver.dispatchers;
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
\set d2 '''00000000-0000-0000-0000-0000000000d2'''
SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.dispatcher_register(:d1, 'h', 1, 'v'), camserver.dispatcher_register(:d2, 'h', 2, 'v') \g /dev/null
-- A job with its frame, n seconds old, under a number of ours.
CREATE TEMP TABLE number (n integer PRIMARY KEY, job_id bigint UNIQUE);
CREATE FUNCTION pg_temp.job(p_n integer, p_priority integer DEFAULT 0, p_age interval DEFAULT '0 s',
    p_kind text DEFAULT 'analyze', p_status text DEFAULT 'queued') RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_captured timestamptz := clock_timestamp() - p_age;
    v_frame bigint;
    v_job bigint;
BEGIN
    INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes) VALUES (
        ('00000000-0000-0000-0000-' || lpad(p_n::text, 12, '0'))::uuid, 't_cam', v_captured, now(), 10)
    RETURNING frame_id INTO v_frame;
    INSERT INTO camserver.inference_jobs (kind, status, priority, camera_id, frame_id, captured_at, created_at,
        available_at, locked_token) VALUES (p_kind::camserver.job_kind, p_status::camserver.job_status, p_priority,
        't_cam', v_frame, v_captured, now(), now(), CASE p_status WHEN 'running' THEN 0 END)
    RETURNING job_id INTO v_job;
    INSERT INTO number VALUES (p_n, v_job);
END $$;
-- The numbers that a claim gets, in the order it gets them.
CREATE FUNCTION pg_temp.claim(p_max integer, p_kind text DEFAULT 'analyze',
    p_by uuid DEFAULT '00000000-0000-0000-0000-0000000000d1') RETURNS integer[] LANGUAGE sql AS $$
    SELECT coalesce(array_agg(n ORDER BY o), '{}') FROM camserver.job_claim(p_kind::camserver.job_kind, p_by, p_max)
        WITH ORDINALITY c (job_id, token, attempt, max_attempt, frame_uuid, camera_id, captured_at, permit, wait_ms, pool, o)
    LEFT JOIN number USING (job_id) $$;
CREATE FUNCTION pg_temp.status(p_n integer) RETURNS text LANGUAGE sql AS $$
    SELECT status::text FROM camserver.inference_jobs JOIN number USING (job_id) WHERE n = p_n $$;
CREATE FUNCTION pg_temp.idle(p_pid integer) RETURNS boolean LANGUAGE sql AS $$
    SELECT idle FROM camserver.dispatchers WHERE pid = p_pid $$;
CREATE FUNCTION pg_temp.wait(p_n integer, p_for interval) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.inference_jobs SET status = 'waiting', available_at = clock_timestamp() + p_for, locked_by = NULL,
        locked_token = NULL, locked_at = NULL, deadline_at = NULL
    WHERE job_id = (SELECT job_id FROM number WHERE n = p_n) $$;
CREATE FUNCTION pg_temp.clear() RETURNS void LANGUAGE sql AS $$
    TRUNCATE number;
    DELETE FROM camserver.inference_jobs;
    DELETE FROM camserver.frames WHERE camera_id = 't_cam' $$;

-- Nothing there.
SELECT is(pg_temp.idle(1), false, 'a dispatcher that just started is not idle');
SELECT is(pg_temp.claim(5), '{}', 'an empty queue gives nothing');
SELECT is(pg_temp.idle(1), true, 'and who gets nothing is idle');
SELECT is(pg_temp.idle(2), false, 'nobody else');
CREATE TEMP TABLE place AS SELECT ctid AS place FROM camserver.dispatchers WHERE pid = 1;
SELECT pg_temp.claim(5) \g /dev/null
SELECT is((SELECT ctid FROM camserver.dispatchers WHERE pid = 1), place, 'which is not written twice') FROM place;

-- Who was asleep and gets something is marked until it gets something again.
UPDATE camserver.dispatchers SET idle = true WHERE pid = 2;
SELECT pg_temp.job(101), pg_temp.job(102), pg_temp.job(103) \g /dev/null
SELECT count(*) FROM camserver.job_claim('analyze', :d2, 1, p_awake => false) \g /dev/null
SELECT is(pg_temp.idle(2), true, 'the mark stays while nobody knows whether there is more');
SELECT count(*) FROM camserver.job_claim('analyze', :d2, 1, p_awake => true) \g /dev/null
SELECT is(pg_temp.idle(2), false, 'there is: not idle');
SELECT count(*) FROM camserver.job_claim('analyze', :d2, 1, p_awake => false) \g /dev/null
SELECT is(pg_temp.idle(2), false, 'no claim that gets something makes it idle');
SELECT count(*) FROM camserver.job_claim('analyze', :d2, 1, p_awake => true) \g /dev/null
SELECT is(pg_temp.idle(2), true, 'one that gets nothing does');
SELECT count(*) FROM camserver.job_claim('analyze', :d2, 1, p_awake => false) \g /dev/null
SELECT is(pg_temp.idle(2), true, 'whoever asks');
UPDATE camserver.dispatchers SET idle = false WHERE pid = 2;

-- Order, number.
SELECT pg_temp.job(1), pg_temp.job(2, 5), pg_temp.job(3), pg_temp.job(4, 5), pg_temp.job(5, -3),
    pg_temp.job(6, 100) \g /dev/null
SELECT is(pg_temp.claim(2), '{6,2}', 'highest priority first, at most so many');
SELECT is(pg_temp.idle(1), false, 'who gets something is not idle');
SELECT is(pg_temp.claim(0, p_by => :d2), '{}', 'who asks for none gets none');
SELECT is(pg_temp.claim(3, p_by => :d2), '{4,1,3}', 'then the oldest');
SELECT is(pg_temp.claim(3), '{5}', 'until none is left');
SELECT is(pg_temp.idle(1), false, 'fewer than asked for is not nothing');
SELECT is(pg_temp.claim(3), '{}', 'none is given twice');

-- What a claim writes and tells.
SELECT pg_temp.clear(), pg_temp.job(1), pg_temp.job(2), pg_temp.job(3) \g /dev/null
UPDATE camserver.inference_jobs SET attempt = 2, max_attempt = 5, last_error = 'before'
    WHERE job_id = (SELECT job_id FROM number WHERE n = 1);
CREATE TEMP TABLE start AS SELECT clock_timestamp() AS before;
CREATE TEMP TABLE told AS SELECT * FROM camserver.job_claim('analyze', :d1, 2);
SELECT is((SELECT array_agg((attempt, max_attempt)::text ORDER BY n) FROM told JOIN number USING (job_id)),
    ARRAY['(3,5)', '(1,8)'], 'each claim is an attempt');
SELECT is((SELECT array_agg(attempt::integer ORDER BY n) FROM camserver.inference_jobs JOIN number USING (job_id)),
    ARRAY[3, 1, 0], 'and is written as one');
SELECT ok((SELECT bool_and(t.frame_uuid = f.frame_uuid AND t.camera_id = 't_cam' AND t.captured_at =
    camserver.rfc3339(f.captured_at)) FROM told t JOIN camserver.inference_jobs USING (job_id)
    JOIN camserver.frames f USING (frame_id)), 'with the frame''s uuid, camera and time');
SELECT matches((SELECT captured_at FROM told LIMIT 1), '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$',
    'as RFC 3339 in UTC');
SELECT ok((SELECT bool_and(j.status = 'running' AND locked_by = :d1 AND locked_token = t.token
    AND locked_at BETWEEN before AND clock_timestamp() AND deadline_at = locked_at + interval '60 s'
    AND finished_at IS NULL) FROM start, told t JOIN camserver.inference_jobs j USING (job_id)),
    'the row says who holds it, since when and until when');
SELECT is(pg_temp.status(3), 'queued', 'the rest is untouched');
SELECT camserver.setting_set('job_deadline_sec', '7') \g /dev/null
SELECT pg_temp.claim(1) \g /dev/null
SELECT ok((SELECT deadline_at = locked_at + interval '7 s' FROM camserver.inference_jobs JOIN number USING (job_id)
    WHERE n = 3), 'the deadline is a setting');

-- Tokens.
SELECT pg_temp.clear() \g /dev/null
SELECT pg_temp.job(i) FROM generate_series(1, 40) i \g /dev/null
CREATE TEMP TABLE tokens (o serial, token bigint);
INSERT INTO tokens (token) SELECT token FROM camserver.job_claim('analyze', :d1, 15);
INSERT INTO tokens (token) SELECT token FROM camserver.job_claim('analyze', :d2, 5);
UPDATE camserver.inference_jobs SET status = 'queued', locked_token = NULL WHERE status = 'running';
INSERT INTO tokens (token) SELECT token FROM camserver.job_claim('analyze', :d2, 30);
SELECT is((SELECT count(DISTINCT token)::integer FROM tokens), 50, 'every claim of every job has a token of its own');
SELECT is((SELECT count(*)::integer FROM tokens a JOIN tokens b ON a.o <= 15 AND b.o BETWEEN 16 AND 20
    AND b.token <= a.token), 0, 'greater than all before');
SELECT is((SELECT count(*)::integer FROM tokens a JOIN tokens b ON a.o <= 20 AND b.o > 20 AND b.token <= a.token), 0,
    'also when a job is claimed again');

-- Kinds and states.
SELECT pg_temp.clear() \g /dev/null
SELECT pg_temp.job(i, p_status => s) FROM (VALUES (1, 'running'), (2, 'done'), (3, 'dead'), (4, 'cancelled')) v (i, s)
    \g /dev/null
SELECT pg_temp.job(5, p_kind => 'notify'), pg_temp.job(6, p_kind => 'archive') \g /dev/null
SELECT is(pg_temp.claim(9), '{}', 'what runs, is done, dead or cancelled is never claimed, nor another kind');
SELECT is((SELECT string_agg(pg_temp.status(n), ',' ORDER BY n) FROM number),
    'running,done,dead,cancelled,queued,queued', 'or changed');
SELECT is(pg_temp.claim(9, 'notify'), '{5}', 'each kind has its queue');
UPDATE camserver.inference_jobs SET frame_id = NULL WHERE job_id = (SELECT job_id FROM number WHERE n = 6);
SELECT is(pg_temp.claim(9, 'archive'), '{6}', 'a job without a frame is claimed, too');

-- What waits.
SELECT pg_temp.clear(), pg_temp.job(1), pg_temp.job(2, 9), pg_temp.job(3) \g /dev/null
SELECT pg_temp.wait(1, '1 h'), pg_temp.wait(2, '1 h') \g /dev/null
SELECT is(pg_temp.claim(9), '{3}', 'what waits is not claimed before its time');
SELECT is(pg_temp.status(1), 'waiting', 'and waits on');
SELECT is(pg_temp.claim(9), '{}', 'nothing else is there');
SELECT is(pg_temp.idle(1), true, 'who has only to wait is idle');
SELECT pg_temp.wait(1, '-1 ms') \g /dev/null
SELECT is(pg_temp.claim(9), '{1}', 'what is due is claimed');
SELECT is(pg_temp.status(2), 'waiting', 'only that');
SELECT pg_temp.job(4), pg_temp.wait(1, '-2 s'), pg_temp.wait(2, '-1 s') \g /dev/null
SELECT is(pg_temp.claim(2), '{2,1}', 'in its place by priority and age, not by when it became due');
SELECT is(pg_temp.claim(2), '{4}', 'before what came later');
SELECT pg_temp.job(5, p_kind => 'notify'), pg_temp.wait(5, '-1 s') \g /dev/null
SELECT is(pg_temp.claim(9), '{}', 'another kind''s wait');
SELECT is(pg_temp.status(5), 'queued', 'is over, too');
-- Waiting for a moment, really.
SELECT pg_temp.clear(), pg_temp.job(1), pg_temp.wait(1, '300 ms') \g /dev/null
SELECT is(pg_temp.claim(1), '{}', 'not now');
SELECT pg_sleep(0.31) \g /dev/null
SELECT is(pg_temp.claim(1), '{1}', 'but then');
-- A crowd of waiting ones does not come back all at once, nor hold up those who may run.
SELECT pg_temp.clear() \g /dev/null
SELECT pg_temp.job(i), pg_temp.wait(i, '-1 s') FROM generate_series(1, 250) i \g /dev/null
SELECT pg_temp.job(251, 1) \g /dev/null
SELECT is(pg_temp.claim(1), '{251}', 'what may run');
SELECT cmp_ok((SELECT count(*) FROM camserver.inference_jobs WHERE status = 'queued'), '<=', 100::bigint,
    'a hundred at most come back with it');
SELECT is((SELECT sum(cardinality(pg_temp.claim(50)))::integer FROM generate_series(1, 6)), 250,
    'in the end all come back');

-- Too old.
SELECT pg_temp.clear() \g /dev/null
SELECT pg_temp.job(1, p_age => '400 d') \g /dev/null
SELECT is(pg_temp.claim(9), '{1}', 'by default no frame is too old');
SELECT camserver.setting_set('job_max_age_sec', '60') \g /dev/null
SELECT pg_temp.clear(), pg_temp.job(1, p_age => '61 s'), pg_temp.job(2, p_age => '59 s'),
    pg_temp.job(3, 5, '1 h') \g /dev/null
SELECT is(pg_temp.claim(9), '{2}', 'with job_max_age_sec only what is young enough is claimed');
SELECT is((SELECT (status, attempt, last_error, locked_by, locked_token, locked_at)::text FROM camserver.inference_jobs
    JOIN number USING (job_id) WHERE n = 1),
    '(cancelled,0,"stale: the frame was 61 s old, job_max_age_sec is 60",,,)', 'the rest is cancelled with the reason');
SELECT ok((SELECT bool_and(finished_at BETWEEN now() AND clock_timestamp()) FROM camserver.inference_jobs
    JOIN number USING (job_id) WHERE n IN (1, 3)), 'and the time');
SELECT pg_temp.clear() \g /dev/null
SELECT pg_temp.job(i, p_age => '2 min') FROM generate_series(1, 10) i \g /dev/null
SELECT pg_temp.job(i) FROM generate_series(11, 13) i \g /dev/null
SELECT is(pg_temp.claim(2), '{11,12}', 'what is too old does not take the place of what is not');
SELECT is(pg_temp.idle(1), false, 'there is work');
SELECT is(pg_temp.claim(2), '{13}', 'for the next one as well');
SELECT is((SELECT count(*)::integer FROM camserver.inference_jobs WHERE status = 'cancelled'), 10,
    'all that was in the way is cancelled');

-- Nobody is in the way of a claim: the plan of its inner query, and what a claim really reads.
SELECT camserver.setting_set('job_max_age_sec', '0') \g /dev/null
SELECT pg_temp.clear() \g /dev/null
INSERT INTO camserver.inference_jobs (status, camera_id, captured_at, created_at, available_at, finished_at,
    locked_token)
    SELECT s::camserver.job_status, 't_cam', now(), now(), now() + CASE s WHEN 'waiting' THEN interval '1 h' ELSE '0 s'
    END,
        now(), CASE s WHEN 'running' THEN 0 END
    FROM generate_series(1, 4000), unnest(ARRAY['done', 'dead', 'cancelled', 'waiting', 'running']) s;
SELECT pg_temp.job(i) FROM generate_series(1, 20) i \g /dev/null
CREATE FUNCTION pg_temp.plan_of_claim() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_line text;
    v_all text := '';
BEGIN
    FOR v_line IN EXECUTE $q$ EXPLAIN (COSTS off) SELECT j.job_id FROM camserver.inference_jobs j
        WHERE j.status = 'queued' AND j.kind = 'analyze'
        ORDER BY j.priority DESC, j.job_id LIMIT 10 FOR UPDATE SKIP LOCKED $q$
    LOOP
        v_all := v_all || v_line || E'\n';
    END LOOP;
    RETURN v_all;
END $$;
CREATE FUNCTION pg_temp.tuples_read() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
    WHERE relid = 'camserver.inference_jobs'::regclass $$;
SELECT matches(pg_temp.plan_of_claim(), 'Index (Only )?Scan using jobs_queued',
    'without statistics the claim uses its index');
ANALYZE camserver.inference_jobs;
SELECT matches(pg_temp.plan_of_claim(), 'Index (Only )?Scan using jobs_queued', 'and with them');
SELECT ok(pg_temp.plan_of_claim() !~ 'Sort', 'in the index''s order');
DISCARD PLANS;
CREATE TEMP TABLE read_before AS SELECT pg_temp.tuples_read() AS n;
SELECT is(pg_temp.claim(10), (SELECT array_agg(i) FROM generate_series(1, 10) i), 'with 20000 others in the table');
SELECT cmp_ok(pg_temp.tuples_read() - n, '<', 100::bigint, 'a claim reads only its own') FROM read_before;

SELECT * FROM finish();
ROLLBACK;
