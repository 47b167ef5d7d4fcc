-- counters_report(host, epoch, counters): the absolute values of a host's shared-memory counters. Repeating a
-- report, or sending it from two dispatchers, counts nothing twice; a new epoch (fresh memory) adds from 0; a
-- report that arrives late, with lower values, is ignored. Locks: the host's counter rows, in name order.
CREATE OR REPLACE FUNCTION camserver.counters_report(p_host text, p_epoch text, p_counters jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    INSERT INTO host_counters AS c (host, name, epoch, last_value, total, updated_at)
    SELECT p_host, key, p_epoch, value::bigint, value::bigint, clock_timestamp()
    FROM jsonb_each_text(p_counters) ORDER BY key
    ON CONFLICT (host, name) DO UPDATE SET
        total = c.total + excluded.last_value - CASE WHEN c.epoch = excluded.epoch THEN c.last_value ELSE 0 END,
        last_value = excluded.last_value, epoch = excluded.epoch, updated_at = excluded.updated_at
    WHERE c.epoch <> excluded.epoch OR c.last_value < excluded.last_value;
END $$;
