-- schema_push_begin and schema_push_end: one dispatcher at a time tells a node its schema.
BEGIN;
SELECT plan(31);

DELETE FROM camserver.schema_pushes;
\set d1 '''00000000-0000-0000-0000-0000000000d1'''
\set d2 '''00000000-0000-0000-0000-0000000000d2'''
INSERT INTO camserver.schema_versions (schema_version, schema) VALUES ('t.1', '{"schema_version":"t.1","tags":[]}'),
    ('t.2', '{"schema_version":"t.2","tags":[{"id":"a.b"}]}');
CREATE FUNCTION pg_temp.ago(p_started interval, p_finished interval) RETURNS void LANGUAGE sql AS $$
    UPDATE camserver.schema_pushes SET started_at = clock_timestamp() - p_started,
    finished_at = clock_timestamp() - p_finished
    WHERE node_url = 'http://n1' $$;
CREATE FUNCTION pg_temp.row(p_node text DEFAULT 'http://n1') RETURNS text LANGUAGE sql AS $$
    SELECT (schema_version, right(pushed_by::text, 2), finished_at IS NOT NULL, accepted, error)::text
    FROM camserver.schema_pushes WHERE node_url = p_node $$;

-- A version that nobody knows.
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 'none'),
    '{"push":false,"repeated":true,"error":"there is no schema none in schema_versions"}', 'an unknown version');
SELECT is((SELECT count(*)::integer FROM camserver.schema_pushes), 0, 'is not pushed');

-- One at a time.
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 't.1'),
    '{"push":true,"schema":{"schema_version":"t.1","tags":[]}}', 'the first pushes, and gets the schema');
SELECT is(pg_temp.row(), '(t.1,d1,f,,)', 'which is written down');
SELECT ok((SELECT started_at BETWEEN now() AND clock_timestamp() FROM camserver.schema_pushes), 'with its time');
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 't.1'), '{"push":false,"repeated":false}',
    'a second one does not');
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 't.1'), '{"push":false,"repeated":false}',
    'nor the first again');
SELECT is(pg_temp.row(), '(t.1,d1,f,,)', 'the push stays the first one''s');
SELECT is(camserver.schema_push_begin(:d2, 'http://n2', 't.1')->>'push', 'true', 'another node is another matter');
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 'none')->>'error', 'there is no schema none in schema_versions',
    'an unknown version does not disturb it');

-- Who does not push cannot end it.
SELECT camserver.schema_push_end(:d2, 'http://n1', true) \g /dev/null
SELECT is(pg_temp.row(), '(t.1,d1,f,,)', 'somebody else cannot end it');
SELECT camserver.schema_push_end(:d1, 'http://n3', true) \g /dev/null
SELECT is((SELECT count(*)::integer FROM camserver.schema_pushes), 2, 'nor what was never begun');
SELECT camserver.schema_push_end(:d1, 'http://n1', true) \g /dev/null
SELECT is(pg_temp.row(), '(t.1,d1,t,t,)', 'the node accepted it');
SELECT ok((SELECT finished_at BETWEEN started_at AND clock_timestamp() FROM camserver.schema_pushes
    WHERE node_url = 'http://n1'), 'just now');
SELECT camserver.schema_push_end(:d1, 'http://n1', false, 'late') \g /dev/null
SELECT is(pg_temp.row(), '(t.1,d1,t,t,)', 'it ends once');
SELECT is(pg_temp.row('http://n2'), '(t.1,d2,f,,)', 'the other node''s goes on');

-- After it was accepted.
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 't.1'), '{"push":false,"repeated":false}',
    'who asked the node before it had the schema only tries again');
SELECT pg_temp.ago('4 s', '1.5 s') \g /dev/null
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 't.1'), '{"push":false,"repeated":false}', 'for 2 s');
SELECT pg_temp.ago('4 s', '2.1 s') \g /dev/null
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 't.1'),
    '{"push":false,"repeated":true,"error":"the node accepted '
    'the schema and still answers schema_mismatch"}', 'then the fault is the node''s');
SELECT is(pg_temp.row(), '(t.1,d1,t,t,)', 'and it is not told again at once');
SELECT pg_temp.ago('10.1 s', '9 s') \g /dev/null
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 't.1')->>'push', 'true',
    'after 10 s it is: it may be a new node');
SELECT is(pg_temp.row(), '(t.1,d2,f,,)', 'by whoever comes');

-- Who pushes and dies holds it up for 10 s at most.
SELECT pg_temp.ago('9 s', NULL) \g /dev/null
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 't.1')->>'push', 'false', 'a push under way is waited for');
SELECT pg_temp.ago('10.1 s', NULL) \g /dev/null
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 't.1')->>'push', 'true', 'for 10 s');
SELECT camserver.schema_push_end(:d2, 'http://n1', true) \g /dev/null
SELECT is(pg_temp.row(), '(t.1,d1,f,,)', 'who lost it cannot end it');

-- Refused by the node.
SELECT camserver.schema_push_end(:d1, 'http://n1', false, 'status 500') \g /dev/null
SELECT is(pg_temp.row(), '(t.1,d1,t,f,"status 500")', 'the node refused it');
SELECT is(camserver.schema_push_begin(:d2, 'http://n1', 't.1')->>'push', 'true', 'the next may try at once');
SELECT is(pg_temp.row(), '(t.1,d2,f,,)', 'and the error is gone');

-- Another version.
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 't.2')->'schema'->>'schema_version', 't.2',
    'another version is pushed at once');
SELECT is(pg_temp.row(), '(t.2,d1,f,,)', 'and is the one under way');
SET LOCAL ROLE camserver_dispatcher;
SELECT is(camserver.schema_push_begin(:d1, 'http://n1', 't.2')->>'push', 'false', 'the dispatcher''s role may ask');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
