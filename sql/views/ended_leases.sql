-- ended_leases: the leases of the last day and why each ended, newest first.
CREATE VIEW camserver.ended_leases AS
SELECT lease_id, user_id, camera_id, quality, end_reason, ended_at, date_trunc('second', ended_at - created_at) AS lasted
FROM camserver.modal_lease_log
ORDER BY ended_at DESC;
