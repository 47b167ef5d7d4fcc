-- health_report(...): a host's load and the level that the policy derived from it and from the state with
-- number p_seq. If the state has moved on since (another dispatcher of the host reported), nothing is written.
-- Either way the answer is the state to go on from, with the thresholds in force:
-- seq, overloaded, since_overload_sec (NULL if never), accepted, thresholds.
-- Call with a NULL level to read only. Locks: the host's row.
CREATE OR REPLACE FUNCTION camserver.health_report(
    p_dispatcher uuid, p_host text, p_seq bigint DEFAULT 0, p_cpu_percent numeric DEFAULT NULL,
    p_memory_percent numeric DEFAULT NULL, p_swap_mb numeric DEFAULT NULL, p_level text DEFAULT NULL,
    p_overloaded boolean DEFAULT NULL, p_tripped boolean DEFAULT NULL, p_reason text DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_state system_health%ROWTYPE;
    v_accepted boolean := false;
BEGIN
    IF p_level IS NOT NULL THEN
        INSERT INTO system_health AS h (host, seq, sampled_at, sampled_by, cpu_percent, memory_percent, swap_mb, level,
            overloaded, last_overload_at, reason)
        VALUES (p_host, p_seq + 1, v_now, p_dispatcher, p_cpu_percent, p_memory_percent, p_swap_mb, p_level,
            p_overloaded, CASE WHEN p_tripped THEN v_now END, p_reason)
        ON CONFLICT (host) DO UPDATE SET seq = excluded.seq, sampled_at = excluded.sampled_at,
            sampled_by = excluded.sampled_by, cpu_percent = excluded.cpu_percent,
            memory_percent = excluded.memory_percent, swap_mb = excluded.swap_mb, level = excluded.level,
            overloaded = excluded.overloaded,
            last_overload_at = coalesce(excluded.last_overload_at, h.last_overload_at), reason = excluded.reason
        WHERE h.seq = p_seq;
        v_accepted := FOUND;
    END IF;
    SELECT * INTO v_state FROM system_health WHERE host = p_host;
    RETURN jsonb_build_object(
        'accepted', v_accepted,
        'seq', coalesce(v_state.seq, 0),
        'overloaded', coalesce(v_state.overloaded, false),
        'since_overload_sec', extract(epoch FROM v_now - v_state.last_overload_at),
        'thresholds', (SELECT jsonb_object_agg(name, value::numeric) FROM settings
                       WHERE name ~ '^(overload|recover|warning)_'));
END $$;
