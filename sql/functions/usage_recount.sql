-- usage_recount(): compare each server's usage row with its leases and mend it where somebody deleted leases
-- by hand. Returns the number of servers that were wrong. Locks: advisory 'stream' of each wrong server, in order.
CREATE OR REPLACE FUNCTION camserver.usage_recount() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_wrong record;
    v_count integer := 0;
BEGIN
    FOR v_wrong IN
        SELECT s.stream_server_id, s.lock_id
        FROM stream_usage u JOIN stream_servers s USING (stream_server_id)
        LEFT JOIN (SELECT stream_server_id, sum(units) AS units, count(*) AS n
                   FROM modal_leases GROUP BY stream_server_id) l USING (stream_server_id)
        WHERE (u.units_used, u.active_modals) <> (coalesce(l.units, 0), coalesce(l.n, 0))
        ORDER BY s.lock_id
    LOOP
        PERFORM pg_advisory_xact_lock(lock_class('stream'), v_wrong.lock_id);
        UPDATE stream_usage u SET units_used = l.units, active_modals = l.n, units_cap = greatest(u.units_cap, l.units),
            next_dead_at = '-infinity' -- the next sweep finds the right time
        FROM (SELECT coalesce(sum(units), 0)::integer AS units, count(*)::integer AS n
              FROM modal_leases WHERE stream_server_id = v_wrong.stream_server_id) l
        WHERE u.stream_server_id = v_wrong.stream_server_id AND (u.units_used, u.active_modals) <> (l.units, l.n);
        IF FOUND THEN
            v_count := v_count + 1;
        END IF;
    END LOOP;
    RETURN v_count;
END $$;
