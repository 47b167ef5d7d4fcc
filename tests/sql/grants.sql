-- Who may do what: nothing but the functions on each role's list, and those cannot be led astray.
BEGIN;
SELECT plan(140);

-- Runs a statement as a role and tells its SQLSTATE, or ok. The role of the session stays.
CREATE FUNCTION pg_temp.try_as(p_role text, p_sql text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE format('SET LOCAL ROLE %I', p_role);
        EXECUTE p_sql;
        RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZ000';
    EXCEPTION WHEN OTHERS THEN
        RETURN CASE SQLSTATE WHEN 'ZZ000' THEN 'ok' ELSE SQLSTATE END;
    END;
END $$;
CREATE TEMP TABLE roles AS SELECT unnest(ARRAY['camserver_api', 'camserver_dispatcher', 'camserver_manager',
    'camserver_ops']) AS role;
CREATE TEMP TABLE allowed (role text, name text);
INSERT INTO allowed SELECT 'camserver_api', unnest(ARRAY['schema_version', 'caller_identify', 'lease_acquire',
    'lease_heartbeat', 'lease_release',
    'system_status', 'metrics_snapshot', 'suggest_get', 'frame_ingest', 'camera_list', 'camera_latest', 'event_list', 'event_get',
    'case_attach', 'case_detach', 'media_find',
    'console_live', 'console_events', 'console_event', 'console_operations', 'server_put',
    'job_list', 'job_retry', 'job_cancel', 'permit_exchange', 'limits_show', 'limits_set', 'pool_list', 'pool_put',
    'node_list', 'node_put', 'node_report']);
INSERT INTO allowed SELECT 'camserver_dispatcher', unnest(ARRAY['schema_version', 'dispatcher_register',
    'dispatcher_heartbeat', 'dispatcher_stop',
    'health_report', 'counters_report', 'sweep_run', 'suggest_offer',
    'node_configure', 'node_candidates', 'node_report',
    'job_claim', 'job_fail', 'analysis_complete', 'schema_push_begin', 'schema_push_end',
    'spool_expire', 'spool_unknown', 'archive_expire', 'archive_removed', 'followup_claim',
    'followup_complete', 'permit_acquire', 'permit_release', 'permit_renew', 'permit_cancel', 'permit_poll']);
INSERT INTO allowed SELECT unnest(ARRAY['camserver_api', 'camserver_dispatcher']), name FROM unnest(ARRAY['worker_acquire',
    'worker_poll', 'worker_leave', 'worker_release', 'worker_evict', 'worker_heartbeat']) name;
INSERT INTO allowed SELECT 'camserver_manager', unnest(ARRAY['schema_version', 'manager_register', 'manager_sync',
    'manager_stop', 'pool_reap', 'worker_ready', 'worker_failed', 'worker_gone']);
CREATE TEMP VIEW functions AS SELECT oid, proname, oid::regprocedure::text AS signature, prosecdef, proconfig, proacl,
    proowner
    FROM pg_proc WHERE pronamespace = 'camserver'::regnamespace;
CREATE TEMP VIEW relations AS SELECT oid, relname, relkind, relowner FROM pg_class
    WHERE relnamespace = 'camserver'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f');

SELECT cmp_ok((SELECT count(*) FROM functions), '>', 30::bigint, 'there are functions to look at');
SELECT cmp_ok((SELECT count(*) FROM relations), '>', 15::bigint, 'and tables');

-- Exactly the list.
SELECT is((SELECT array_agg(DISTINCT proname::text ORDER BY proname::text) FROM functions WHERE
    has_function_privilege(r.role, oid, 'EXECUTE')),
    (SELECT array_agg(name ORDER BY name) FROM allowed a WHERE a.role = r.role),
    r.role || ' may execute its list and nothing else')
FROM roles r WHERE r.role <> 'camserver_ops';
SELECT is((SELECT string_agg(signature, ', ' ORDER BY signature) FROM functions
    WHERE has_function_privilege('camserver_ops', oid, 'EXECUTE') AND proname NOT IN (
    'schema_version', 'system_status', 'setting_number', 'suggest_usage', 'stream_budget', 'rfc3339',
    'limits_effective', 'bucket_refilled')), NULL,
    'camserver_ops may execute only what reads');

-- Tables, views and sequences.
SELECT is((SELECT string_agg(relname, ', ' ORDER BY relname) FROM relations
    WHERE has_table_privilege(r.role, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege(r.role, oid, 'SELECT, INSERT, UPDATE, REFERENCES')), NULL,
           r.role || ' has no privilege on any table or view')
FROM roles r WHERE r.role <> 'camserver_ops';
SELECT is((SELECT string_agg(relname, ', ' ORDER BY relname) FROM relations WHERE relkind <> 'v' AND
    has_any_column_privilege('camserver_ops', oid, 'SELECT')), NULL,
    'camserver_ops reads no table');
SELECT is((SELECT string_agg(relname, ', ' ORDER BY relname) FROM relations WHERE
    has_any_column_privilege('camserver_ops', oid, 'INSERT, UPDATE')
    OR has_table_privilege('camserver_ops', oid, 'DELETE, TRUNCATE')), NULL, 'and writes nothing');
SELECT is((SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class WHERE relnamespace =
    'camserver'::regnamespace AND relkind = 'S'
    AND has_sequence_privilege(r.role, oid, 'SELECT, USAGE, UPDATE')), NULL, r.role || ' has no sequence') FROM roles r;
SELECT ok(NOT has_schema_privilege(r.role, 'camserver', 'CREATE'),
    r.role || ' creates nothing in the schema') FROM roles r;
SELECT ok(NOT pg_has_role(r.role, 'camserver_owner', 'MEMBER'), r.role || ' is no member of the owner') FROM roles r;
SELECT is((SELECT string_agg(rolname, ', ') FROM pg_roles WHERE rolname ~ '^camserver_'
    AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)), NULL, 'all are ordinary roles');

-- Really.
SELECT is((SELECT string_agg(relname || '=' || t, ', ') FROM relations, pg_temp.try_as(r.role,
    format('SELECT 1 FROM camserver.%I LIMIT 1', relname)) t
    WHERE t <> '42501'), NULL, r.role || ' is refused when it reads any of them') FROM roles r WHERE r.role <>
    'camserver_ops';
SELECT is((SELECT string_agg(relname || '=' || t, ', ') FROM relations, pg_temp.try_as(r.role,
    format('DELETE FROM camserver.%I', relname)) t
    WHERE relkind = 'r' AND t <> '42501'), NULL, r.role || ' is refused when it deletes from any table') FROM roles r;
SELECT is(pg_temp.try_as('camserver_api', 'UPDATE camserver.stream_usage SET units_used = 0'), '42501',
    'camserver_api cannot set usage');
SELECT is(pg_temp.try_as('camserver_api', $$INSERT INTO camserver.users VALUES ('x', 'operator')$$), '42501',
    'camserver_api cannot make itself an operator');
SELECT is(pg_temp.try_as('camserver_api', 'SELECT token_sha256 FROM camserver.api_tokens'), '42501',
    'camserver_api cannot read tokens');
SELECT is(pg_temp.try_as('camserver_api', $$SELECT camserver.token_create('x', 'operator', sha256('x'))$$), '42501',
    'nor make one');
SELECT is(pg_temp.try_as('camserver_api', $$SELECT camserver.setting_set('recover_hold_sec', '1')$$), '42501',
    'nor change a setting');
SELECT is(pg_temp.try_as('camserver_api', 'SELECT camserver.lease_sweep()'), '42501', 'nor sweep');
SELECT is(pg_temp.try_as('camserver_api', $$SELECT camserver.lease_end('default', NULL, NULL, now())$$), '42501',
    'nor call an internal function');
SELECT is(pg_temp.try_as('camserver_api', 'CREATE TABLE camserver.x ()'), '42501', 'nor create a table');
SELECT is(pg_temp.try_as('camserver_dispatcher', $$SELECT camserver.lease_acquire('u', 'c')$$), '42501',
    'camserver_dispatcher cannot take a lease');
SELECT is(pg_temp.try_as('camserver_dispatcher', $$SELECT camserver.lease_sweep()$$), '42501',
    'nor sweep but by sweep_run');
SELECT is(pg_temp.try_as('camserver_dispatcher', 'UPDATE camserver.sweeps SET next_run_at = now()'), '42501',
    'nor write the sweeps');
SELECT is(pg_temp.try_as('camserver_dispatcher', sql), '42501', 'camserver_dispatcher cannot: ' || sql)
FROM unnest(ARRAY[
    $$SELECT camserver.frame_ingest('u', gen_random_uuid(), 't_cam', now(), 0, 1)$$, 'SELECT camserver.job_rescue()',
    'SELECT camserver.event_close_stale()', 'SELECT camserver.job_retry(0)', 'SELECT camserver.job_wake()']) sql;
SELECT is(pg_temp.try_as('camserver_api', sql), '42501', 'camserver_api cannot: ' || sql) FROM unnest(ARRAY[
    $$SELECT * FROM camserver.job_claim('analyze', gen_random_uuid(), 1)$$,
    $$SELECT camserver.analysis_complete(gen_random_uuid(), '[]')$$, 'SELECT camserver.prune()',
    'SELECT camserver.archive_queue(0)', 'SELECT camserver.case_rearchive(0, NULL)']) sql;
SELECT is(pg_temp.try_as('camserver_manager', 'SELECT camserver.sweep_run()'), '42501',
    'camserver_manager cannot sweep at all');

-- What they may do works with nothing but that.
SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT is(pg_temp.try_as('camserver_api', sql), 'ok', 'camserver_api: ' || sql) FROM unnest(ARRAY[
    'SELECT camserver.schema_version()',
    $$SELECT * FROM camserver.caller_identify('viewer', sha256('x'), NULL, NULL)$$,
    $$SELECT camserver.lease_acquire('u', 't_cam', 'main', true)$$,
    $$SELECT camserver.lease_heartbeat('u', gen_random_uuid())$$,
    $$SELECT camserver.lease_release('u', gen_random_uuid())$$,
    $$SELECT camserver.system_status('user:x')$$,
    $$SELECT camserver.suggest_get('user:x')$$,
    $$SELECT camserver.frame_ingest('u', gen_random_uuid(), 't_cam', now(), 0, 1)$$,
    'SELECT camserver.camera_list()', $$SELECT camserver.camera_latest('t_cam')$$, 'SELECT camserver.event_list()',
    'SELECT camserver.event_get(gen_random_uuid())', 'SELECT camserver.job_list()', 'SELECT camserver.job_retry(0)',
    'SELECT camserver.job_cancel(0)', $$SELECT camserver.case_attach('u', gen_random_uuid(), 'c')$$,
    $$SELECT camserver.case_detach('u', gen_random_uuid())$$, 'SELECT camserver.media_find(gen_random_uuid())',
    $$SELECT camserver.permit_exchange(gen_random_uuid(), '{"renew":[]}')$$,
    'SELECT camserver.limits_show()', $$SELECT camserver.limits_set('global', '', '{"requests":5}')$$,
    'SELECT camserver.node_list()', $$SELECT camserver.node_put('n', '{}')$$,
    $$SELECT camserver.node_report(gen_random_uuid(), 'x', '[]')$$]) sql;
SELECT is(pg_temp.try_as('camserver_dispatcher', sql), 'ok', 'camserver_dispatcher: ' || sql) FROM unnest(ARRAY[
    'SELECT camserver.schema_version()',
    $$SELECT camserver.dispatcher_register(gen_random_uuid(), 'h', 1, 'v', 'default')$$,
    'SELECT camserver.dispatcher_heartbeat(gen_random_uuid())',
    'SELECT camserver.dispatcher_stop(gen_random_uuid())',
    $$SELECT camserver.health_report(NULL, 'h', 0, 1, 1, 1, 'normal', false, false)$$,
    $$SELECT camserver.counters_report('h', 'e', '{"requests":1}')$$,
    $$SELECT camserver.suggest_offer('t_cam', 100)$$,
    $$SELECT * FROM camserver.job_claim('analyze', gen_random_uuid(), 1)$$,
    $$SELECT camserver.job_fail(gen_random_uuid(), '[]')$$,
    $$SELECT camserver.analysis_complete(gen_random_uuid(), '[]')$$,
    $$SELECT camserver.schema_push_begin(gen_random_uuid(), 'http://t', '2025-12-28.1')$$,
    $$SELECT camserver.schema_push_end(gen_random_uuid(), 'http://t', true)$$,
    $$SELECT camserver.permit_acquire(gen_random_uuid(), '[]')$$, $$SELECT camserver.permit_release('{}')$$,
    $$SELECT camserver.permit_renew(gen_random_uuid())$$, $$SELECT camserver.permit_cancel('[]')$$,
    $$SELECT camserver.permit_poll(gen_random_uuid())$$, $$SELECT camserver.node_configure('n', 'http://n', 'm')$$,
    $$SELECT camserver.node_candidates('m')$$, $$SELECT camserver.node_report(gen_random_uuid(), 'x', '[]')$$]) sql;
SELECT is(pg_temp.try_as('camserver_dispatcher', 'SELECT camserver.sweep_run()'), 'ok',
    'camserver_dispatcher: sweep_run()');
SELECT is((SELECT string_agg(relname || '=' || t, ', ' ORDER BY relname) FROM relations,
    pg_temp.try_as('camserver_ops', format('SELECT v::text FROM camserver.%I v', relname)) t
    WHERE relkind = 'v' AND t <> 'ok'), NULL, 'camserver_ops reads every view, functions in it included');
SELECT is(pg_temp.try_as(role, sql), 'ok', role || ': ' || sql) FROM unnest(ARRAY[
    $$SELECT camserver.worker_acquire('t_pool', gen_random_uuid())$$,
    $$SELECT camserver.worker_poll(gen_random_uuid(), '{}')$$,
    $$SELECT camserver.worker_leave(gen_random_uuid(), gen_random_uuid())$$,
    $$SELECT camserver.worker_release(gen_random_uuid(), gen_random_uuid(), 1)$$,
    $$SELECT camserver.worker_evict(gen_random_uuid(), gen_random_uuid(), 1, 'x')$$,
    $$SELECT camserver.worker_heartbeat(gen_random_uuid(), 'x', 30)$$]) sql,
    unnest(ARRAY['camserver_api', 'camserver_dispatcher']) role;
SELECT is(pg_temp.try_as('camserver_api', sql), 'ok', 'camserver_api: ' || sql) FROM unnest(ARRAY[
    'SELECT camserver.pool_list()', $$SELECT camserver.pool_put('t_pool', '{"command": "x"}')$$,
    $$SELECT camserver.console_live('anon:x', 'viewer')$$, $$SELECT camserver.console_events('user:x', 'viewer')$$,
    $$SELECT camserver.console_event('user:x', 'viewer', gen_random_uuid())$$,
    $$SELECT camserver.console_operations('user:x', 'operator')$$, $$SELECT camserver.server_put('default', '{}')$$]) sql;
SELECT is(pg_temp.try_as('camserver_manager', sql), 'ok', 'camserver_manager: ' || sql) FROM unnest(ARRAY[
    $$SELECT camserver.manager_register(gen_random_uuid(), 'h', 1, 'v')$$,
    $$SELECT camserver.manager_sync(gen_random_uuid(), '{}', true)$$, 'SELECT camserver.manager_stop(gen_random_uuid())',
    'SELECT camserver.pool_reap()', $$SELECT camserver.worker_ready(gen_random_uuid(), gen_random_uuid(), 1, 'a', 1, 1)$$,
    $$SELECT camserver.worker_failed(gen_random_uuid(), gen_random_uuid(), 1, 'x')$$,
    $$SELECT camserver.worker_gone(gen_random_uuid(), gen_random_uuid(), 'x')$$]) sql;
SELECT is(pg_temp.try_as('camserver_manager', $$SELECT camserver.worker_acquire('t_pool', gen_random_uuid())$$), '42501',
    'camserver_manager cannot hold a worker');
SELECT is(pg_temp.try_as('camserver_api', $$SELECT camserver.worker_gone(gen_random_uuid(), gen_random_uuid(), 'x')$$),
    '42501', 'camserver_api cannot declare a worker gone');
SELECT is(pg_temp.try_as('camserver_ops', sql), 'ok', 'camserver_ops: ' || sql) FROM unnest(ARRAY[
    'SELECT camserver.schema_version()', 'SELECT camserver.system_status()',
    $$SELECT camserver.setting_number('recover_hold_sec')$$,
    'SELECT camserver.rfc3339(now())']) sql;

-- The functions themselves.
SELECT is((SELECT string_agg(signature, ', ' ORDER BY signature) FROM functions WHERE prosecdef
    AND NOT coalesce(proconfig @> ARRAY['search_path=camserver, pg_temp'], false)), NULL,
    'every SECURITY DEFINER function has a fixed search_path');
SELECT cmp_ok((SELECT count(*) FROM functions WHERE prosecdef), '>', 15::bigint, 'of which there are many');
SELECT is((SELECT string_agg(signature, ', ' ORDER BY signature) FROM functions f WHERE proacl IS NULL
    OR EXISTS (SELECT 1 FROM aclexplode(f.proacl) x WHERE x.grantee = 0)), NULL, 'no function is executable by PUBLIC');
SELECT is((SELECT string_agg(signature, ', ') FROM functions f JOIN allowed a ON a.name = f.proname WHERE NOT
    prosecdef), NULL,
    'what the programs call runs with the owner''s rights');
SELECT is((SELECT string_agg(signature, ', ') FROM functions WHERE proowner <> 'camserver_owner'::regrole), NULL,
    'camserver_owner owns every function');
SELECT is((SELECT string_agg(relname, ', ') FROM relations WHERE relowner <> 'camserver_owner'::regrole), NULL,
    'and every table and view');
SELECT is((SELECT string_agg(relname, ', ') FROM pg_class c WHERE relnamespace = 'camserver'::regnamespace
    AND EXISTS (SELECT 1 FROM aclexplode(c.relacl) x WHERE x.grantee = 0)), NULL,
    'PUBLIC has no privilege on any of them');

-- A table of the caller's own does not get in the way of a function.
CREATE FUNCTION pg_temp.shadowed() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE modal_leases (lease_id uuid);
    CREATE TEMP TABLE settings (name text, value text);
    RETURN (camserver.lease_acquire('shadow', 't_cam'))->>'outcome';
END $$;
SELECT is(pg_temp.shadowed(), 'GRANTED', 'temporary tables of the same names change nothing');
SELECT is((SELECT setting FROM (SELECT unnest(setconfig) AS setting FROM pg_db_role_setting WHERE setrole =
    'camserver_api'::regrole) s
    WHERE setting LIKE 'statement_timeout=%'), 'statement_timeout=5s', 'a request has a time limit');

SELECT * FROM finish();
ROLLBACK;
