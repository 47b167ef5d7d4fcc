-- pool_counts(pool, at): how many workers are in which state, and how many callers wait unserved. Internal.
-- o_live counts what takes up capacity: what is stopping does not.
CREATE OR REPLACE FUNCTION camserver.pool_counts(p_pool text, p_at timestamptz, OUT o_live integer, OUT o_pending integer,
    OUT o_idle integer, OUT o_in_use integer, OUT o_waiting integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    SELECT count(*) FILTER (WHERE state <> 'stopping'), count(*) FILTER (WHERE state IN ('wanted', 'starting')),
        count(*) FILTER (WHERE state = 'idle'), count(*) FILTER (WHERE state = 'in_use')
    INTO o_live, o_pending, o_idle, o_in_use FROM workers WHERE pool = p_pool AND state <> 'gone';
    SELECT count(*) INTO o_waiting FROM worker_waiters WHERE pool = p_pool AND worker_id IS NULL AND deadline_at > p_at;
END $$;
