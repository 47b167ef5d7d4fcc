-- caller_identify: tokens, signed-in names, anonymous sessions, and what each role may.
BEGIN;
SELECT plan(45);

CREATE FUNCTION pg_temp.who(p_need text, p_token text DEFAULT NULL, p_user text DEFAULT NULL,
    p_session text DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', coalesce(denied, 'may'), user_id, role)
    FROM camserver.caller_identify(p_need::camserver.caller_role, sha256(p_token::bytea), p_user, p_session) $$;

SELECT camserver.token_create('t-' || r, r::camserver.caller_role, sha256(('secret-' || r)::bytea))
    FROM unnest(ARRAY['viewer', 'ingest', 'operator']) r \g /dev/null
INSERT INTO camserver.users (user_name, role) VALUES ('t_ing', 'ingest'), ('t_op', 'operator'), ('t_view', 'viewer');

SELECT is(pg_temp.who('viewer'), 'UNAUTHORIZED', 'nobody');
SELECT is(pg_temp.who('operator'), 'UNAUTHORIZED', 'nobody is not even forbidden');

-- The matrix.
SELECT is(pg_temp.who(need, 'secret-' || has), CASE WHEN has = need OR has = 'operator' THEN 'may' ELSE 'FORBIDDEN' END
    || ' token:t-' || has || ' ' || has,
    format('a token of role %s asks as %s', has, need))
FROM unnest(ARRAY['viewer', 'ingest', 'operator']) has, unnest(ARRAY['viewer', 'ingest',
    'operator']) need ORDER BY has, need;
SELECT is(pg_temp.who(need, NULL, 't_op'), 'may user:t_op operator', 'a signed-in operator asks as ' || need)
FROM unnest(ARRAY['viewer', 'ingest', 'operator']) need ORDER BY need;
SELECT is(pg_temp.who('ingest', NULL, 't_ing'), 'may user:t_ing ingest', 'a name with a role has it');
SELECT is(pg_temp.who('viewer', NULL, 't_ing'), 'FORBIDDEN user:t_ing ingest', 'and no other');
SELECT is(pg_temp.who('viewer', NULL, 't_view'), 'may user:t_view viewer', 'a viewer by name');
SELECT is(pg_temp.who('viewer', NULL, 'stranger'), 'may user:stranger viewer', 'a name without a role is a viewer');
SELECT is(pg_temp.who('operator', NULL, 'stranger'), 'FORBIDDEN user:stranger viewer', 'and nothing more');
SELECT is(pg_temp.who('viewer', NULL, 'T_OP'), 'may user:T_OP viewer', 'names are case-sensitive');
SELECT is(pg_temp.who('viewer', NULL, NULL, 'abc'), 'may anon:abc viewer', 'an anonymous session is a viewer');
SELECT is(pg_temp.who('ingest', NULL, NULL, 'abc'), 'FORBIDDEN anon:abc viewer', 'never ingest');
SELECT is(pg_temp.who('operator', NULL, NULL, 'abc'), 'FORBIDDEN anon:abc viewer', 'never operator');
SELECT is(pg_temp.who('viewer', NULL, 't_view', 'abc'), 'may user:t_view viewer', 'a name comes before a session');

-- Tokens.
SELECT is(pg_temp.who('viewer', 'wrong'), 'UNAUTHORIZED', 'an unknown token');
SELECT is(pg_temp.who('viewer', 'wrong', 't_op', 'abc'), 'UNAUTHORIZED', 'a token that was sent alone decides');
SELECT is(pg_temp.who('operator', 'secret-viewer', 't_op'), 'FORBIDDEN token:t-viewer viewer',
    'also against a stronger name');
SELECT camserver.token_create('t-short', 'viewer', sha256('secret-short'), '1 hour') \g /dev/null
SELECT is(pg_temp.who('viewer', 'secret-short'), 'may token:t-short viewer', 'a token within its time');
UPDATE camserver.api_tokens SET expires_at = clock_timestamp() WHERE name = 't-short';
SELECT is(pg_temp.who('viewer', 'secret-short'), 'UNAUTHORIZED', 'an expired token');
SELECT is(pg_temp.who('viewer', 'secret-short', 't_op'), 'UNAUTHORIZED', 'which no name rescues');
SELECT is((SELECT state FROM camserver.token_list WHERE name = 't-short'), 'expired', 'as the view says');
SELECT is(camserver.token_revoke('t-viewer'), true, 'a token is revoked');
SELECT is(pg_temp.who('viewer', 'secret-viewer'), 'UNAUTHORIZED', 'at once');
SELECT is(camserver.token_revoke('t-viewer'), false, 'once');
SELECT is(camserver.token_revoke('none'), false, 'an unknown one cannot be');
SELECT lives_ok($$SELECT camserver.token_create('t-viewer', 'viewer', sha256('new'))$$, 'its name is free again');
SELECT is(pg_temp.who('viewer', 'new'), 'may token:t-viewer viewer', 'for a new token');
SELECT throws_ok($$SELECT camserver.token_create('t-viewer', 'viewer', sha256('newer'))$$, '23505', NULL,
    'two live tokens of one name');
SELECT throws_ok($$SELECT camserver.token_create('t-x', 'viewer', sha256('new'))$$, '23505', NULL,
    'two tokens of one secret');
SELECT throws_ok($$SELECT camserver.token_create('a b', 'viewer', sha256('x'))$$, '23514', NULL,
    'names follow the grammar');
SELECT throws_ok($$SELECT camserver.token_create('t-y', 'viewer', 'plain')$$, '23514', NULL, 'only a hash is kept');

-- last_used_at is written at most every five minutes.
SELECT ok((SELECT last_used_at > clock_timestamp() - interval '5 s' FROM camserver.api_tokens WHERE name =
    't-operator'), 'the use of a token is noted');
UPDATE camserver.api_tokens SET last_used_at = clock_timestamp() - interval '4 min' WHERE name = 't-operator';
SELECT pg_temp.who('viewer', 'secret-operator') \g /dev/null
SELECT ok((SELECT last_used_at < clock_timestamp() - interval '3 min' FROM camserver.api_tokens WHERE name =
    't-operator'), 'not at every call');
UPDATE camserver.api_tokens SET last_used_at = clock_timestamp() - interval '6 min' WHERE name = 't-operator';
SELECT pg_temp.who('viewer', 'secret-operator') \g /dev/null
SELECT ok((SELECT last_used_at > clock_timestamp() - interval '5 s' FROM camserver.api_tokens WHERE name =
    't-operator'), 'but every five minutes');

-- The longest name still makes a user_id that fits a lease.
SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT is((SELECT camserver.lease_acquire(user_id, 't_cam')->>'outcome' FROM camserver.caller_identify('viewer', NULL,
    repeat('山', 120), NULL)),
    'GRANTED', 'a name of 120 characters can hold a lease');

SELECT * FROM finish();
ROLLBACK;
