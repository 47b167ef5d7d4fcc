-- counters_report(host, epoch, counters): the absolute values of a host's shared-memory counters. Repeating a
-- report, sending it from two dispatchers, or sending it late counts nothing twice; fresh memory is a new epoch and
-- starts at 0. The sum over hosts and epochs is what happened. Locks: the epoch's counter rows, in name order.
CREATE OR REPLACE FUNCTION camserver.counters_report(p_host text, p_epoch text, p_counters jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    INSERT INTO host_counters AS c (host, name, epoch, value, updated_at)
    SELECT p_host, key, p_epoch, value::bigint, clock_timestamp()
    FROM jsonb_each_text(p_counters) ORDER BY key
    ON CONFLICT (host, name, epoch) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
    WHERE c.value < excluded.value;
END $$;
