-- xmin_age: what keeps old row versions from being vacuumed away, the worst first. A session that stays idle in a
-- transaction, a forgotten replication slot or prepared transaction makes the queue's indexes grow without end.
-- age_sec and state of other roles' sessions show only to members of pg_read_all_stats.
CREATE VIEW camserver.xmin_age AS
SELECT source, age_xids, age_sec, pid, application_name, state
FROM (
    SELECT 'session' AS source, greatest(age(a.backend_xmin), age(a.backend_xid)) AS age_xids,
        round(extract(epoch FROM clock_timestamp() - a.xact_start), 1) AS age_sec, a.pid, a.application_name, a.state
    FROM pg_stat_activity a
    WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid()
      AND (a.datname = current_database() OR a.datname IS NULL)
    UNION ALL
    SELECT 'replication slot', greatest(age(s.xmin), age(s.catalog_xmin)), NULL, s.active_pid, s.slot_name::text,
        CASE WHEN s.active THEN 'active' ELSE 'inactive' END
    FROM pg_replication_slots s
    WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
    UNION ALL
    SELECT 'prepared transaction', age(p.transaction), round(extract(epoch FROM clock_timestamp() - p.prepared), 1),
        NULL, p.gid, 'prepared'
    FROM pg_prepared_xacts p
    WHERE p.database = current_database()
) x
ORDER BY age_xids DESC;
