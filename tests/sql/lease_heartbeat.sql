-- lease_heartbeat: keeps a lease alive up to its TTL, says how a dead one ended, and is one in-page update.
BEGIN;
SELECT plan(33);

CREATE FUNCTION pg_temp.beat(p_user text, p_lease uuid) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', a->>'outcome', a->>'end_reason') FROM camserver.lease_heartbeat(p_user, p_lease) a $$;
CREATE FUNCTION pg_temp.later(p_user text, p_sec numeric, p_beat_only boolean DEFAULT false) RETURNS void LANGUAGE sql
    AS $$
    UPDATE camserver.modal_leases SET last_heartbeat = last_heartbeat - make_interval(secs => p_sec::float8),
        expires_at = expires_at - CASE WHEN p_beat_only THEN interval '0' ELSE make_interval(secs => p_sec::float8) END
    WHERE user_id = p_user;
    UPDATE camserver.stream_usage SET next_dead_at = least(next_dead_at,
        next_dead_at - make_interval(secs => p_sec::float8)) $$;

SELECT camserver.camera_set('t_cam') \g /dev/null
SELECT camserver.lease_acquire('h' || i, 't_cam', 'sub', false, ('00000000-0000-0000-0000-00000000000' || i)::uuid)
    FROM generate_series(1, 6) i \g /dev/null

SELECT is(pg_temp.beat('h1', '00000000-0000-0000-0000-000000000001'), 'OK', 'a live lease');
SELECT ok((camserver.lease_heartbeat('h1', '00000000-0000-0000-0000-000000000001')->>'remaining_sec')::integer BETWEEN
    290 AND 300,
    'remaining_sec counts to the TTL');
SELECT is((SELECT array_agg(k ORDER BY k) FROM jsonb_object_keys(camserver.lease_heartbeat('h1',
    '00000000-0000-0000-0000-000000000001')) k),
    ARRAY['outcome', 'remaining_sec'], 'and that is the whole answer');

-- The TTL is not extended.
CREATE TEMP TABLE before AS SELECT expires_at FROM camserver.modal_leases WHERE user_id = 'h1';
SELECT pg_temp.later('h1', 40, true) \g /dev/null
SELECT is(pg_temp.beat('h1', '00000000-0000-0000-0000-000000000001'), 'OK', 'a heartbeat 40 s after the last one');
SELECT is((SELECT expires_at FROM camserver.modal_leases WHERE user_id = 'h1'), expires_at,
    'does not move the end') FROM before;
SELECT ok((SELECT last_heartbeat > clock_timestamp() - interval '5 s' FROM camserver.modal_leases WHERE user_id =
    'h1'), 'but is noted');
SELECT pg_temp.later('h1', 40) \g /dev/null
SELECT ok((camserver.lease_heartbeat('h1', '00000000-0000-0000-0000-000000000001')->>'remaining_sec')::integer BETWEEN
    250 AND 260,
    'remaining_sec falls as time goes by');
UPDATE camserver.modal_leases SET expires_at = clock_timestamp() + interval '0.9 s' WHERE user_id = 'h1';
SELECT is(camserver.lease_heartbeat('h1', '00000000-0000-0000-0000-000000000001'), '{"outcome":"OK","remaining_sec":0}',
    'in the last second 0 remain');
UPDATE camserver.modal_leases SET last_heartbeat = clock_timestamp() + interval '5 s' WHERE user_id = 'h2';
SELECT is(pg_temp.beat('h2', '00000000-0000-0000-0000-000000000002'), 'OK', 'a heartbeat that overtook another');
SELECT ok((SELECT last_heartbeat > clock_timestamp() + interval '1 s' FROM camserver.modal_leases WHERE user_id = 'h2'),
    'does not set it back');

-- Over: before and after the sweep.
SELECT pg_temp.later('h2', 301) \g /dev/null
SELECT pg_temp.later('h3', 46, true) \g /dev/null
UPDATE camserver.modal_leases SET expires_at = clock_timestamp(),
    last_heartbeat = clock_timestamp() WHERE user_id = 'h4';
SELECT is(pg_temp.beat('h2', '00000000-0000-0000-0000-000000000002'), 'LEASE_EXPIRED ttl',
    'past the TTL, not yet swept');
SELECT is(pg_temp.beat('h3', '00000000-0000-0000-0000-000000000003'), 'LEASE_EXPIRED heartbeat',
    'past the grace, not yet swept');
SELECT is(pg_temp.beat('h4', '00000000-0000-0000-0000-000000000004'), 'LEASE_EXPIRED ttl',
    'heartbeats do not help past the TTL');
SELECT is((SELECT count(*)::integer FROM camserver.modal_leases WHERE user_id IN ('h2', 'h3', 'h4')), 3,
    'a late heartbeat revives nothing');
SELECT ok((SELECT last_heartbeat < clock_timestamp() - interval '40 s' FROM camserver.modal_leases WHERE user_id =
    'h3'), 'and writes nothing');
SELECT is(camserver.lease_sweep(), '{"count":3,"more":false}', 'the sweep ends them');
SELECT is(pg_temp.beat('h2', '00000000-0000-0000-0000-000000000002'), 'LEASE_EXPIRED ttl',
    'the same answer after the sweep');
SELECT is(pg_temp.beat('h3', '00000000-0000-0000-0000-000000000003'), 'LEASE_EXPIRED heartbeat', 'for each');
SELECT is(pg_temp.beat('h4', '00000000-0000-0000-0000-000000000004'), 'LEASE_EXPIRED ttl', 'of them');

-- Released and revoked ones.
SELECT camserver.lease_release('h5', '00000000-0000-0000-0000-000000000005') \g /dev/null
SELECT is(pg_temp.beat('h5', '00000000-0000-0000-0000-000000000005'), 'LEASE_EXPIRED released', 'after its release');
SELECT is(camserver.lease_revoke('00000000-0000-0000-0000-000000000006'), true, 'an operator revokes a lease');
SELECT is(pg_temp.beat('h6', '00000000-0000-0000-0000-000000000006'), 'LEASE_EXPIRED revoked', 'its viewer is told');
SELECT is(camserver.lease_revoke('00000000-0000-0000-0000-000000000006'), false, 'once is enough');
SELECT is(camserver.lease_revoke('99999999-0000-0000-0000-000000000000'), false, 'an unknown one cannot be revoked');

-- Not one's own.
SELECT is(pg_temp.beat('h1', '99999999-0000-0000-0000-000000000000'), 'UNKNOWN_LEASE', 'an id that never was');
SELECT is(pg_temp.beat('other', '00000000-0000-0000-0000-000000000001'), 'UNKNOWN_LEASE',
    'somebody else''s live lease');
SELECT is(pg_temp.beat('other', '00000000-0000-0000-0000-000000000003'), 'UNKNOWN_LEASE',
    'somebody else''s ended lease');
SELECT is(pg_temp.beat(NULL, '00000000-0000-0000-0000-000000000001'), 'UNKNOWN_LEASE', 'nobody''s');

-- In-page.
SELECT camserver.lease_acquire('h7', 't_cam', 'sub', false, '00000000-0000-0000-0000-000000000007') \g /dev/null
CREATE TEMP TABLE hot AS SELECT pg_stat_get_xact_tuples_updated('camserver.modal_leases'::regclass) AS all_updates,
    pg_stat_get_xact_tuples_hot_updated('camserver.modal_leases'::regclass) AS hot_updates,
    (SELECT split_part(ctid::text, ',', 1) FROM camserver.modal_leases WHERE user_id = 'h7') AS page;
SELECT is((SELECT count(*)::integer FROM generate_series(1, 10) WHERE
    camserver.lease_heartbeat('h7', '00000000-0000-0000-0000-000000000007')->>'outcome' = 'OK'), 10, 'ten heartbeats');
SELECT is(pg_stat_get_xact_tuples_updated('camserver.modal_leases'::regclass) - all_updates, 10::bigint,
    'are ten updates') FROM hot;
SELECT is(pg_stat_get_xact_tuples_hot_updated('camserver.modal_leases'::regclass) - hot_updates, 10::bigint,
    'all of them HOT') FROM hot;
SELECT is((SELECT split_part(ctid::text, ',', 1) FROM camserver.modal_leases WHERE user_id = 'h7'), page,
    'on the same page') FROM hot;
SELECT ok(NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY
    (i.indkey)
    WHERE i.indrelid = 'camserver.modal_leases'::regclass AND a.attname = 'last_heartbeat'),
    'last_heartbeat is in no index');

SELECT * FROM finish();
ROLLBACK;
