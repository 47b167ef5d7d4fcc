-- The CHECK that makes over-admission an error, whatever the code above it believed.
BEGIN;
SELECT plan(10);

SELECT camserver.stream_server_set('t_a', '{"total_units":17}') \g /dev/null
SELECT camserver.camera_set('t_cam', '{"stream_server_id":"t_a"}') \g /dev/null
SELECT camserver.lease_acquire('u1', 't_cam') \g /dev/null

SELECT throws_matching($$UPDATE camserver.stream_usage SET units_used = 3 WHERE stream_server_id = 't_a'$$,
    'no_over_admission',
    'usage cannot pass the budget of the last grant');
SELECT lives_ok($$UPDATE camserver.stream_usage SET units_used = 2 WHERE stream_server_id = 't_a'$$, 'it can reach it');
SELECT lives_ok($$UPDATE camserver.stream_usage SET units_used = 1 WHERE stream_server_id = 't_a'$$, 'and go back');
SELECT throws_ok($$UPDATE camserver.stream_usage SET units_used = -1 WHERE stream_server_id = 't_a'$$, '23514', NULL,
    'it cannot be negative');
SELECT throws_ok($$UPDATE camserver.stream_usage SET active_modals = -1 WHERE stream_server_id = 't_a'$$, '23514',
    NULL, 'nor can the number of leases');
SELECT throws_matching($$SELECT camserver.lease_grant('u2', 't_cam', s, 'main', 2, 2, 'x', gen_random_uuid(),
    clock_timestamp())
    FROM camserver.stream_servers s WHERE stream_server_id = 't_a'$$, 'no_over_admission',
    'a grant past the budget is an error');
SELECT is((SELECT count(*)::integer FROM camserver.modal_leases WHERE user_id = 'u2'), 0, 'and leaves no lease');
SELECT lives_ok($$SELECT camserver.lease_grant('u2', 't_cam', s, 'sub', 1, 2, 'x', gen_random_uuid(), clock_timestamp())
    FROM camserver.stream_servers s WHERE stream_server_id = 't_a'$$, 'a grant up to the budget is not');
SELECT throws_ok($$INSERT INTO camserver.modal_leases SELECT gen_random_uuid(), 'u1', 't_cam', 't_a', 'sub', 1, 45,
    now(), now(), now()$$,
    '23505', NULL, 'a second lease of a user is an error');
SELECT throws_ok($$INSERT INTO camserver.modal_leases SELECT gen_random_uuid(), 'u3', 't_cam', 't_a', 'sub', 0, 45,
    now(), now(), now()$$,
    '23514', NULL, 'a lease that costs nothing is an error');

SELECT * FROM finish();
ROLLBACK;
