-- lease_answer(lease, stream_url, heartbeat_interval): a granted lease as its owner is told of it. Internal.
CREATE OR REPLACE FUNCTION camserver.lease_answer(
    p_lease camserver.modal_leases, p_stream_url text, p_heartbeat_interval_sec integer) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'outcome', 'GRANTED',
        'lease_id', p_lease.lease_id,
        'allowed_quality', p_lease.quality,
        'expires_at', camserver.rfc3339(p_lease.expires_at),
        'remaining_sec', floor(extract(epoch FROM p_lease.expires_at - clock_timestamp()))::integer,
        'stream_url', p_stream_url,
        'heartbeat_interval_sec', p_heartbeat_interval_sec,
        'heartbeat_grace_sec', p_lease.grace_sec);
END $$;
