-- Claims under the limits of a model: no more jobs than permits, no permit without a job, a place in the queue like anybody
-- else's, and every way in which a job ends gives its permit back.
BEGIN;
SELECT plan(58);

DELETE FROM camserver.inference_jobs;
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
\set d2 '''00000000-0000-0000-0000-0000000000d2'''
SELECT camserver.camera_set('t_cam'), camserver.dispatcher_register(:d1, 'h', 1, 'v'), camserver.dispatcher_register(:d2, 'h', 2, 'v') \g /dev/null
CREATE FUNCTION pg_temp.jobs(p_n integer, p_kind text DEFAULT 'analyze') RETURNS void LANGUAGE sql AS $$
    WITH f AS (INSERT INTO camserver.frames (frame_uuid, camera_id, captured_at, received_at, image_bytes)
        SELECT gen_random_uuid(), 't_cam', clock_timestamp(), now(), 10 FROM generate_series(1, p_n) RETURNING frame_id)
    INSERT INTO camserver.inference_jobs (kind, camera_id, frame_id, captured_at, created_at, available_at)
    SELECT p_kind::camserver.job_kind, 't_cam', frame_id, now(), now(), now() FROM f $$;
-- What a claim got, kept in order; the answer: jobs, those of them with a permit, and whether there is more to wait for.
CREATE TEMP TABLE held (n serial, by_whom uuid, job_id bigint, token bigint, permit uuid);
CREATE FUNCTION pg_temp.claim(p_n integer, p_by uuid DEFAULT '00000000-0000-0000-0000-0000000000d1', p_model text DEFAULT 'is21')
RETURNS text LANGUAGE sql AS $$
    WITH c AS MATERIALIZED (SELECT * FROM camserver.job_claim('analyze', p_by, p_n, p_model, 100)),
    k AS (INSERT INTO held (by_whom, job_id, token, permit) SELECT p_by, job_id, token, permit FROM c WHERE job_id IS NOT NULL)
    SELECT concat_ws(' ', count(job_id), count(permit), CASE WHEN count(wait_ms) > 0 THEN 'waits' END) FROM c $$;
CREATE FUNCTION pg_temp.fail(p_by uuid DEFAULT '00000000-0000-0000-0000-0000000000d1', p_n integer DEFAULT 1, p_more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    WITH h AS (DELETE FROM held WHERE n IN (SELECT n FROM held WHERE by_whom = p_by ORDER BY n LIMIT p_n) RETURNING *)
    SELECT camserver.job_fail(p_by, jsonb_agg(jsonb_strip_nulls(jsonb_build_object('job_id', job_id, 'token', token, 'error', 'x', 'delay_ms', 0,
        'refund', true, 'permit', permit)) || p_more)) FROM h $$;
CREATE FUNCTION pg_temp.bucket() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', tokens, running, waiting) FROM camserver.buckets WHERE level = 'model' AND name = 'is21' $$;
CREATE FUNCTION pg_temp.ask(n integer, p_wait integer DEFAULT 30000, p_caller text DEFAULT 'u') RETURNS text LANGUAGE sql AS $$
    SELECT camserver.permit_acquire('aaaaaaaa-0000-0000-0000-000000000001', jsonb_build_array(jsonb_build_object('id',
        ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'model', 'is21', 'caller', p_caller, 'wait_ms', p_wait)))->0->>'outcome' $$;
CREATE FUNCTION pg_temp.free(n integer) RETURNS integer LANGUAGE sql AS $$
    SELECT camserver.permit_release(ARRAY[('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid]) $$;
CREATE FUNCTION pg_temp.queue() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(caller, ' ' ORDER BY place) FROM camserver.permit_queue WHERE model = 'is21' $$;
CREATE FUNCTION pg_temp.load(p_limit text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM camserver.permits; DELETE FROM camserver.permit_waiters; DELETE FROM camserver.permit_turns; DELETE FROM held;
    DELETE FROM camserver.inference_jobs; DELETE FROM camserver.permit_calls;
    PERFORM camserver.limits_load(format('{"providers": {"cams": {"models": [{"name": "is21", "rate_limit": %s}]}}}', p_limit)::jsonb);
    UPDATE camserver.buckets SET tokens = requests, remainder = 0, running = 0, waiting = 0, turn = 0, refilled_at = clock_timestamp();
END $$;

-- Without a model of that name nothing is limited.
SELECT pg_temp.jobs(12) \g /dev/null
SELECT is(pg_temp.claim(3), '3 0', 'no such model: no permits, no bound');
SELECT is((SELECT count(*) FROM camserver.job_claim('analyze', :d1, 3)), 3::bigint, 'nor without a name');

-- Tokens bound a claim.
SELECT pg_temp.load('{"requests": 5, "window_ms": 3600000, "concurrent": 3}') \g /dev/null
SELECT pg_temp.jobs(12) \g /dev/null
SELECT is(pg_temp.claim(2), '2 2', 'two jobs, two permits');
SELECT is(pg_temp.bucket(), '3 2 0', 'two tokens');
SELECT is((SELECT ROW(count(*), min(caller), bool_and(holder = :d1))::text FROM camserver.permit_list), ROW(2, 'dispatcher', true)::text, 'held by the dispatcher');
SELECT is((SELECT count(DISTINCT permit) FROM held), 2::bigint, 'one each');
SELECT is(pg_temp.claim(5), '1 1 waits', 'no more than may run');
SELECT is(pg_temp.bucket(), '2 3 1', 'one token more, and one place in the queue');
SELECT is(pg_temp.claim(5), '0 0 waits', 'asking again');
SELECT is(pg_temp.bucket(), '2 3 1', 'is charged nothing and takes no second place');
SELECT is((SELECT count(*) FROM camserver.inference_jobs WHERE status = 'queued' AND attempt = 0), 9::bigint, 'what was not claimed is as it was');
SELECT is((SELECT idle FROM camserver.dispatchers WHERE dispatcher_id = :d1), false, 'who waits for a permit is not idle');
SELECT is(pg_temp.claim(5, :d2), '0 0 waits', 'another dispatcher');
SELECT is(pg_temp.queue(), 'dispatcher dispatcher', 'has its own place');
SELECT pg_temp.fail() \g /dev/null
SELECT is(pg_temp.bucket(), '1 3 1', 'a job that ends lets the first of them go on');
SELECT is(pg_temp.claim(5), '1 1 waits', 'which gets a job when it asks');
SELECT is((SELECT count(*) FROM camserver.permits WHERE fresh), 0::bigint, 'with the permit that it was given');
SELECT pg_temp.fail(:d1, 2) \g /dev/null
SELECT is(pg_temp.bucket(), '0 2 1', 'the last token');
SELECT is(pg_temp.claim(5, :d2), '1 1 waits', 'goes to the other');
SELECT is((SELECT wait_ms FROM camserver.job_claim('analyze', :d2, 5, 'is21', 100)), 10000, 'told to come again in time to keep its place');
UPDATE camserver.buckets SET refilled_at = refilled_at - interval '718 s' WHERE name = 'is21';
SELECT cmp_ok((SELECT wait_ms FROM camserver.job_claim('analyze', :d2, 5, 'is21', 100)), '<=', 2000, 'or when the token comes');
SELECT is((SELECT count(*) FROM camserver.permit_calls WHERE outcome = 'released'), 3::bigint, 'calls are recorded');
SELECT is((SELECT count(*) FROM camserver.permit_calls WHERE outcome <> 'released'), 0::bigint, 'and no refusals: nobody was refused');

-- Work that is not there.
SELECT pg_temp.load('{"requests": 5, "window_ms": 3600000, "concurrent": 1}') \g /dev/null
SELECT is(pg_temp.claim(5), '0 0', 'no jobs');
SELECT is(pg_temp.bucket(), '5 0 0', 'no token, no place');
SELECT is((SELECT idle FROM camserver.dispatchers WHERE dispatcher_id = :d1), true, 'idle');
SELECT pg_temp.jobs(2) \g /dev/null
SELECT is(pg_temp.ask(1), 'GRANTED', 'somebody else calls the model');
SELECT is(pg_temp.claim(5), '0 0 waits', 'the dispatcher waits');
DELETE FROM camserver.inference_jobs;
SELECT pg_temp.free(1) \g /dev/null
SELECT is(pg_temp.bucket(), '3 1 0', 'it is its turn');
SELECT is(pg_temp.ask(2), 'WAITING', 'others wait');
SELECT is(pg_temp.claim(5), '0 0', 'but the jobs are gone');
SELECT is(pg_temp.bucket(), '3 1 0', 'the unused permit goes back with its token, to the next');
SELECT is((SELECT caller FROM camserver.permit_list), 'u', 'who has it');
SELECT pg_temp.free(2) \g /dev/null

-- Among others: callers take turns, nobody overtakes.
SELECT pg_temp.load('{"requests": 100, "window_ms": 3600000, "concurrent": 1}') \g /dev/null
SELECT pg_temp.jobs(9) \g /dev/null
SELECT pg_temp.ask(n) FROM generate_series(1, 4) n \g /dev/null
SELECT is(pg_temp.claim(8), '0 0 waits', 'with others waiting the dispatcher waits too');
SELECT is(pg_temp.queue(), 'dispatcher u u u', 'at its turn, before another''s second');
SELECT pg_temp.claim(8) FROM generate_series(1, 5) \g /dev/null
SELECT is((SELECT turn FROM camserver.permit_turns WHERE caller = 'dispatcher'), 0::bigint, 'asking often does not use up turns');
SELECT pg_temp.free(1) \g /dev/null
SELECT is(pg_temp.claim(8), '1 1 waits', 'served');
SELECT is(pg_temp.queue(), 'u dispatcher u u', 'and behind the others again, but not behind all that they want');
SELECT is(pg_temp.ask(9, 0), 'RATE_LIMITED', 'who will not wait does not overtake it');

-- All ends of a job.
SELECT pg_temp.load('{"requests": 100, "window_ms": 3600000, "concurrent": 10}') \g /dev/null
SELECT pg_temp.jobs(9) \g /dev/null
SELECT pg_temp.claim(9) \g /dev/null
SELECT is((SELECT camserver.analysis_complete(:d1, jsonb_agg(jsonb_build_object('job_id', job_id, 'token', token, 'permit', permit, 'result', '{}'::jsonb,
    'detected', false, 'primary_event', 'none', 'unknown_flag', false, 'severity', 0, 'tags', '[]'::jsonb, 'retention_class', 'normal', 'best_score', 1)))->>'done'
    FROM (SELECT * FROM held ORDER BY n LIMIT 2) h), '2', 'done');
SELECT is(pg_temp.bucket(), '91 7 0', 'its permit is free, its token spent');
DELETE FROM held WHERE n IN (SELECT n FROM held ORDER BY n LIMIT 2);
SELECT camserver.job_cancel(job_id) FROM (SELECT * FROM held ORDER BY n LIMIT 1) h \g /dev/null
SELECT is(pg_temp.bucket(), '91 7 0', 'cancelled by an operator: the call may still run');
SELECT is(pg_temp.fail(), '{"dead": 0, "fenced": 1, "waiting": 0}', 'until it ends, fenced off');
SELECT is(pg_temp.bucket(), '91 6 0', 'then it is free');
SELECT pg_temp.fail(p_more => '{"final": true}') \g /dev/null
SELECT is(pg_temp.bucket(), '91 5 0', 'dead');
UPDATE camserver.permits SET expires_at = expires_at - interval '20 s';
SELECT is((SELECT (camserver.dispatcher_heartbeat(:d1, array_agg(permit), 'is21'))->'llm_known' FROM (SELECT * FROM held ORDER BY n LIMIT 4) h), 'false',
    'a model without an address cannot be asked');
SELECT is((SELECT count(*) FROM camserver.permits WHERE expires_at > clock_timestamp() + interval '25 s'), 4::bigint, 'the heartbeat renews what it names');
UPDATE camserver.permits SET expires_at = expires_at - interval '15 s';
SELECT camserver.permit_expire() \g /dev/null
SELECT is(pg_temp.bucket(), '91 4 0', 'what it forgot runs out');
UPDATE camserver.dispatchers SET last_heartbeat = now() - interval '1 day' WHERE dispatcher_id = :d1;
SELECT camserver.job_rescue() \g /dev/null
SELECT is(pg_temp.bucket(), '91 0 0', 'the rescue frees those of a dead dispatcher');
SELECT camserver.dispatcher_register(:d1, 'h', 1, 'v'), pg_temp.claim(3) \g /dev/null
SELECT camserver.limits_set('model', 'is21', '{"concurrent": 1}'), pg_temp.claim(1) \g /dev/null
SELECT is(pg_temp.bucket(), '88 3 1', 'a lowered limit waits for those that run');
SELECT camserver.dispatcher_stop(:d1) \g /dev/null
SELECT is(pg_temp.bucket(), '88 0 0', 'who stops in good order leaves nothing');

-- A model that is switched off is not called; one that names a pool says so.
SELECT camserver.pool_set('p', '{"command": ["/bin/true"]}'), camserver.limits_set('model', 'is21', '{"pool": "p", "concurrent": 5}') \g /dev/null
SELECT is((SELECT array_agg(DISTINCT pool) FROM camserver.job_claim('analyze', :d2, 2, 'is21', 5)), ARRAY['p'], 'the claim tells the pool');
UPDATE camserver.models SET enabled = false WHERE model = 'is21';
SELECT is(pg_temp.claim(5), '0 0', 'not enabled: not called');

-- Escalations, with where the model is.
SELECT camserver.limits_load('{"providers": {"llm": {"base_url": "http://127.0.0.1:1", "api_key_file": "/k", "models": [{"name": "eyes", "model_name": "up",
    "rate_limit": {"requests": 1, "window_ms": 3600000}}]}}}') \g /dev/null
INSERT INTO camserver.events (camera_id, start_at, last_seen_at, state, primary_event, severity_max, retention_class, created_at, updated_at)
    VALUES ('t_cam', now(), now(), 'open', 'unknown', 1, 'normal', now(), now());
SELECT pg_temp.jobs(2, 'escalate') \g /dev/null
UPDATE camserver.inference_jobs SET ref_id = (SELECT max(event_id) FROM camserver.events WHERE camera_id = 't_cam') WHERE kind = 'escalate';
CREATE TEMP TABLE asked AS SELECT * FROM camserver.followup_claim(:d2, 5, 5, 5, 'eyes');
SELECT is((SELECT facts->'llm' FROM asked WHERE job_id IS NOT NULL), '{"upstream_name": "up", "base_url": "http://127.0.0.1:1", "api_key_file": "/k", "pool": null}', 'one question, and where');
SELECT is((SELECT ROW(kind, (facts->>'wait_ms')::integer > 0)::text FROM asked WHERE job_id IS NULL), ROW('escalate', true)::text, 'the other waits');
SELECT is((camserver.dispatcher_heartbeat(:d2, '{}', 'eyes'))->'llm_known', 'true', 'a model with an address can be asked');
SELECT is((SELECT camserver.followup_complete(:d2, jsonb_build_array(jsonb_build_object('job_id', job_id, 'token', token, 'permit', permit, 'outcome', 'ok')))->>'done'
    FROM asked WHERE job_id IS NOT NULL), '1', 'answered');
SELECT is((SELECT running FROM camserver.buckets WHERE name = 'eyes'), 0, 'its permit is free');

SELECT * FROM finish();
ROLLBACK;
