-- suggest_offer(camera, score, hazard, reason): a detection on this camera may be worth everybody's look.
--   p_score   from the policy (20 x severity and the kind's bonus), before the camera's weight
--   p_hazard  a hazard on the camera that is suggested already makes the suggestion last longer
-- Returns what became of it: started, switched, raised, extended, kept, weak, pause, unknown_camera.
-- Locks: the advisory lock 'suggest'.
CREATE OR REPLACE FUNCTION camserver.suggest_offer(
    p_camera text, p_score numeric, p_hazard boolean DEFAULT false, p_reason text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_state suggest_state%ROWTYPE;
    v_now timestamptz;
    v_current numeric;
    v_score numeric;
    v_decision text;
BEGIN
    SELECT p_score * suggest_weight / 5 INTO v_score FROM cameras WHERE camera_id = p_camera AND enabled;
    IF NOT FOUND THEN
        RETURN 'unknown_camera';
    END IF;
    -- Most detections change nothing; they are told apart without the lock, which would be held through a commit.
    FOR v_round IN 1..2 LOOP
        IF v_round = 2 THEN
            PERFORM pg_advisory_xact_lock(lock_class('suggest'), 0);
        END IF;
        v_now := clock_timestamp();
        SELECT * INTO STRICT v_state FROM suggest_state;
        v_current := greatest(0, v_state.score - extract(epoch FROM v_now - v_state.scored_at));
        IF v_state.expires_at > v_now AND v_state.camera_id = p_camera THEN
            v_decision := CASE WHEN p_hazard THEN 'extended' WHEN v_score > v_current THEN 'raised' ELSE 'kept' END;
        ELSIF v_score < setting_number('suggest_start_score') THEN
            v_decision := 'weak';
        ELSIF v_state.expires_at > v_now AND v_state.camera_id IS NOT NULL THEN
            v_decision := CASE WHEN v_score < v_current * setting_number('suggest_switch_ratio') THEN 'weak' ELSE 'switched' END;
        ELSIF v_state.camera_id IS NOT NULL
            AND v_state.expires_at > v_now - make_interval(secs => setting_number('suggest_pause_sec')::float8) THEN
            v_decision := 'pause';
        ELSE
            v_decision := 'started';
        END IF;
        IF v_decision IN ('kept', 'weak', 'pause') THEN
            RETURN v_decision;
        END IF;
    END LOOP;

    IF v_decision IN ('extended', 'raised') THEN
        UPDATE suggest_state SET score = greatest(v_score, v_current), scored_at = v_now,
            reason = CASE WHEN v_score > v_current THEN p_reason ELSE reason END,
            expires_at = CASE WHEN p_hazard THEN v_now + make_interval(secs => setting_number('suggest_ttl_sec')::float8)
                ELSE expires_at END;
    ELSE
        UPDATE suggest_state SET camera_id = p_camera, score = v_score, reason = p_reason, started_at = v_now, scored_at = v_now,
            expires_at = v_now + make_interval(secs => setting_number('suggest_ttl_sec')::float8);
    END IF;
    RETURN v_decision;
END $$;
