-- live_leases: who is watching what, for how long, and how much longer.
CREATE VIEW camserver.live_leases AS
SELECT l.lease_id, l.user_id, l.camera_id, l.stream_server_id, l.quality, l.units,
    date_trunc('second', clock_timestamp() - l.created_at) AS age,
    greatest(0, ceil(extract(epoch FROM l.expires_at - clock_timestamp())))::integer AS remaining_sec,
    round(extract(epoch FROM clock_timestamp() - l.last_heartbeat), 1) AS heartbeat_age_sec,
    CASE WHEN l.expires_at <= clock_timestamp() THEN 'dead: ttl'
         WHEN l.last_heartbeat < clock_timestamp() - make_interval(secs => l.grace_sec) THEN 'dead: heartbeat'
         ELSE 'alive' END AS state
FROM camserver.modal_leases l
ORDER BY l.created_at;
