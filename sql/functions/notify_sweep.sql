-- notify_sweep(): cameras whose notifications wait although nothing of theirs is on its way any more - what was, died or
-- was told in a summary - get their next one going. Returns jsonb: count, more. Locks: advisory 'camera' of one after another.
CREATE OR REPLACE FUNCTION camserver.notify_sweep() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 100;
    v_turn record;
    v_seen integer := 0;
    v_jobs integer := 0;
BEGIN
    FOR v_turn IN
        SELECT DISTINCT c.lock_id, n.channel_id, n.camera_id FROM notifications n JOIN cameras c USING (camera_id)
        WHERE n.state = 'pending' AND NOT EXISTS (SELECT 1 FROM notifications s
            WHERE s.channel_id = n.channel_id AND s.camera_id = n.camera_id AND s.state = 'sending')
        ORDER BY c.lock_id, n.channel_id LIMIT c_batch
    LOOP
        PERFORM pg_advisory_xact_lock(lock_class('camera'), v_turn.lock_id);
        v_jobs := v_jobs + notify_promote(v_turn.channel_id, v_turn.camera_id);
        v_seen := v_seen + 1;
    END LOOP;
    IF v_jobs > 0 THEN
        PERFORM job_wake();
    END IF;
    RETURN jsonb_build_object('count', v_jobs, 'more', v_seen = c_batch);
END $$;
