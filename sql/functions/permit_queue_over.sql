-- permit_queue_over(id, queue max, caller max): whether the queue that this waiter is in is longer than it may be, as a
-- whole or in its caller's share: one caller's flood must leave room for the others.
CREATE OR REPLACE FUNCTION camserver.permit_queue_over(p_id uuid, p_queue_max integer, p_caller_max integer) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN (SELECT b.waiting > p_queue_max OR b.waiting > p_caller_max AND p_caller_max < (
            SELECT count(*) FROM permit_waiters c WHERE c.model = w.model AND c.caller = w.caller)
        FROM permit_waiters w JOIN buckets b ON b.level = 'model' AND b.name = w.model WHERE w.permit_id = p_id);
END $$;
