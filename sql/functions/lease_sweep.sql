-- lease_sweep(): end the dead leases of the one server that has waited longest for it; a short transaction per
-- server. Returns jsonb: count, and more = true while another server is waiting.
-- Locks: the advisory lock 'stream' of that server.
CREATE OR REPLACE FUNCTION camserver.lease_sweep() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_server text;
    v_lock integer;
    v_count integer;
BEGIN
    SELECT s.stream_server_id, s.lock_id INTO v_server, v_lock
    FROM stream_usage u JOIN stream_servers s USING (stream_server_id)
    WHERE u.next_dead_at <= v_now ORDER BY u.next_dead_at LIMIT 1;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('count', 0, 'more', false);
    END IF;
    PERFORM pg_advisory_xact_lock(lock_class('stream'), v_lock);
    v_count := lease_sweep_server(v_server, clock_timestamp());
    RETURN jsonb_build_object('count', v_count,
        'more', EXISTS (SELECT 1 FROM stream_usage WHERE next_dead_at <= v_now));
END $$;
