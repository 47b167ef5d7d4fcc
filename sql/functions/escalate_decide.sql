-- escalate_decide(camera, event, frame): a frame that the inference node did not understand: put it to the language
-- model, once per event, unless the camera asked less than escalate_camera_sec ago or the day's questions are used up; then
-- that is noted, and a later frame of the event may ask. Internal: the caller holds the camera's lock.
-- Locks: advisory 'escalate', so that the day's cap holds for all cameras together. Returns the jobs made.
CREATE OR REPLACE FUNCTION camserver.escalate_decide(p_camera text, p_event bigint, p_frame bigint) RETURNS integer
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz;
    v_zone text := coalesce(nullif((SELECT value FROM settings WHERE name = 'summary_timezone'), ''), current_setting('TimeZone'));
    v_cap integer := setting_number('escalate_daily_cap');
    v_today timestamptz;
    v_reason text;
BEGIN
    PERFORM 1 FROM llm_reviews WHERE event_id = p_event AND outcome <> 'skipped';
    IF FOUND THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(lock_class('escalate'), 0);
    v_now := clock_timestamp();
    v_today := date_trunc('day', v_now AT TIME ZONE v_zone) AT TIME ZONE v_zone;
    IF EXISTS (SELECT 1 FROM llm_reviews WHERE camera_id = p_camera
            AND asked_at > v_now - make_interval(secs => setting_number('escalate_camera_sec')::float8)) THEN
        v_reason := 'cooldown_camera';
    ELSIF (SELECT count(*) FROM (SELECT 1 FROM llm_reviews WHERE asked_at >= v_today LIMIT v_cap) n) >= v_cap THEN
        v_reason := 'daily_cap';
    END IF;
    INSERT INTO llm_reviews AS r (event_id, frame_id, camera_id, outcome, reason, created_at, asked_at)
    VALUES (p_event, p_frame, p_camera, CASE WHEN v_reason IS NULL THEN 'pending' ELSE 'skipped' END, v_reason, v_now,
        CASE WHEN v_reason IS NULL THEN v_now END)
    ON CONFLICT (event_id) DO UPDATE SET frame_id = excluded.frame_id, outcome = excluded.outcome, reason = excluded.reason,
        asked_at = excluded.asked_at;
    IF v_reason IS NOT NULL THEN
        RETURN 0;
    END IF;
    INSERT INTO inference_jobs (kind, camera_id, frame_id, ref_id, captured_at, max_attempt, created_at, available_at)
    SELECT 'escalate', p_camera, p_frame, p_event, f.captured_at, setting_number('escalate_max_attempt'), v_now, v_now
    FROM frames f WHERE f.frame_id = p_frame;
    RETURN 1;
END $$;
