SELECT camserver.lease_acquire('bench' || :client_id, 'roomy')->>'lease_id' AS lease \gset
SELECT camserver.lease_heartbeat('bench' || :client_id, :lease::uuid);
SELECT camserver.lease_release('bench' || :client_id, :lease::uuid);
