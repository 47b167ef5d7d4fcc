-- holder_seen(holder, at): whoever asks for a worker lives. Written at most once a second. Internal.
CREATE OR REPLACE FUNCTION camserver.holder_seen(p_holder uuid, p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pool_holders WHERE holder_id = p_holder AND last_heartbeat > p_at - interval '1 second') THEN
        INSERT INTO pool_holders AS h (holder_id, name, interval_sec, first_seen, last_heartbeat)
        VALUES (p_holder, 'unnamed', 30, p_at, p_at)
        ON CONFLICT (holder_id) DO UPDATE SET last_heartbeat = greatest(h.last_heartbeat, excluded.last_heartbeat);
    END IF;
END $$;
