-- lease_acquire(user, camera, quality, allow_downgrade, lease_id): ask for a stream lease.
--   p_allow_downgrade  a main stream may be granted as sub when only that fits
--   p_lease_id         the caller's own id for the lease; asking again with the id of one's live lease on the
--                      same camera returns that lease, so that a lost answer can be asked for again
-- Returns jsonb: outcome GRANTED with lease_id, allowed_quality, expires_at, stream_url, heartbeat numbers;
-- or outcome UNKNOWN_CAMERA, SYSTEM_OVERLOAD, USER_ALREADY_HAS_MODAL, OVER_CAPACITY with retry_after and
-- the numbers behind the refusal (and good_ms, see lease_refusal).
-- Locks: none to refuse; to grant, the advisory lock 'stream' of the server (and, in lock_id order, of the
-- server where a dead lease of the user lies), held to the end of the transaction.
CREATE OR REPLACE FUNCTION camserver.lease_acquire(
    p_user text, p_camera text, p_quality camserver.stream_quality DEFAULT 'sub',
    p_allow_downgrade boolean DEFAULT false, p_lease_id uuid DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_facts record;
    v_now timestamptz := clock_timestamp();
    v_quality stream_quality := p_quality;
    v_cost integer;
    v_refusal jsonb;
    v_lock integer;
    v_id uuid := coalesce(p_lease_id, gen_random_uuid());
BEGIN
    FOR v_round IN 1..2 LOOP
        SELECT * INTO v_facts FROM lease_facts(p_user, p_camera, v_now);
        IF NOT FOUND OR NOT v_facts.enabled THEN
            RETURN jsonb_build_object('outcome', 'UNKNOWN_CAMERA');
        END IF;
        IF v_facts.own_alive AND (v_facts.own).lease_id = p_lease_id AND (v_facts.own).camera_id = p_camera THEN
            RETURN lease_answer(v_facts.own, v_facts.stream_url, (v_facts.server).heartbeat_interval_sec);
        END IF;

        v_cost := CASE v_quality WHEN 'main' THEN (v_facts.server).main_cost ELSE (v_facts.server).sub_cost END;
        -- Under the lock, room is first looked for among leases that nobody has swept yet.
        IF v_round = 2 AND v_facts.units_used + v_cost > v_facts.budget AND v_facts.next_dead_at <= v_now
           AND lease_sweep_server((v_facts.server).stream_server_id, v_now) > 0 THEN
            SELECT * INTO v_facts FROM lease_facts(p_user, p_camera, v_now);
        END IF;
        IF v_quality = 'main' AND p_allow_downgrade AND v_facts.units_used + v_cost > v_facts.budget
           AND (v_round = 2 OR v_facts.next_dead_at > v_now) THEN
            v_quality := 'sub';
            v_cost := (v_facts.server).sub_cost;
        END IF;
        v_refusal := lease_refusal(v_facts, v_cost, v_now);
        IF v_refusal IS NOT NULL AND (v_round = 2 OR v_refusal->>'outcome' <> 'OVER_CAPACITY'
                OR v_facts.next_dead_at > v_now) THEN
            RETURN v_refusal;
        END IF;

        IF v_round = 1 THEN
            FOR v_lock IN
                SELECT s.lock_id FROM stream_servers s
                WHERE s.stream_server_id IN ((v_facts.server).stream_server_id, (v_facts.own).stream_server_id)
                ORDER BY s.lock_id
            LOOP
                PERFORM pg_advisory_xact_lock(lock_class('stream'), v_lock);
            END LOOP;
            v_now := clock_timestamp();
            v_quality := p_quality;
        END IF;
    END LOOP;

    IF (v_facts.own).lease_id IS NOT NULL THEN
        PERFORM lease_end((v_facts.own).stream_server_id, (v_facts.own).lease_id,
            CASE WHEN (v_facts.own).expires_at <= v_now THEN 'ttl' ELSE 'heartbeat' END, v_now);
    END IF;
    RETURN lease_grant(p_user, p_camera, v_facts.server, v_quality, v_cost, v_facts.budget, v_facts.stream_url,
        v_id, v_now);
END $$;
