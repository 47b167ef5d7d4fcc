-- permit_list: who holds which permit, since when, and until when at least. The caller "stock" is a gateway process that was
-- granted many calls in advance: calls says how many of them are under way or may still begin.
CREATE VIEW camserver.permit_list AS
SELECT model, caller, permit_id, holder, granted_at, round(extract(epoch FROM granted_at - asked_at) * 1000) AS waited_ms,
    round(extract(epoch FROM clock_timestamp() - granted_at), 1) AS running_sec,
    greatest(0, round(extract(epoch FROM expires_at - clock_timestamp()), 1)) AS expires_in_sec, slots AS calls
FROM camserver.permits ORDER BY model, granted_at;
