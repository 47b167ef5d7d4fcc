-- frame_ingest(user, uuid, camera, captured_at, priority, bytes): a frame whose image lies in the spool gets its row
-- and its job, in one go. The same uuid again gives the same answer and changes nothing.
-- Returns jsonb: outcome ACCEPTED with frame_uuid, job_id, duplicate; UNKNOWN_CAMERA; FRAME_CONFLICT (the uuid is
-- another camera's frame); BAD_CAPTURED_AT (more than 5 min ahead of this clock); QUEUE_FULL with retry_after, and whose:
-- camera_queue and camera_queue_max, or queue and queue_max with the load in percent (see queue_load). From
-- backpressure_warning_percent on an ACCEPTED new frame comes with queue, as queue_load has it: the caller delays its answer.
-- Wakes a dispatcher only if one sleeps: NOTIFY in every transaction would serialise the commits.
CREATE OR REPLACE FUNCTION camserver.frame_ingest(
    p_user text, p_frame_uuid uuid, p_camera text, p_captured_at timestamptz, p_priority integer, p_image_bytes integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_max integer := setting_number('camera_queue_max');
    c_few CONSTANT integer := 100;
    v_waiting integer := 0;
    v_load jsonb;
    v_percent numeric;
    v_full jsonb;
    v_frame bigint;
    v_job bigint;
BEGIN
    PERFORM 1 FROM cameras WHERE camera_id = p_camera AND enabled;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('outcome', 'UNKNOWN_CAMERA');
    END IF;
    IF p_captured_at > v_now + interval '5 minutes' THEN
        RETURN jsonb_build_object('outcome', 'BAD_CAPTURED_AT', 'server_time', rfc3339(v_now));
    END IF;
    v_load := queue_load();
    -- Few are counted for every frame, and so they are where there were many when all were counted; else there is room.
    IF v_max <= c_few OR v_load->'crowded' ? p_camera THEN
        SELECT count(*) INTO v_waiting FROM (
            SELECT 1 FROM inference_jobs WHERE camera_id = p_camera AND kind = 'analyze' AND status IN ('queued', 'waiting')
            LIMIT v_max) w;
    END IF;
    v_percent := (v_load->>'queued')::numeric * 100 / (v_load->>'max')::numeric;
    IF v_waiting >= v_max THEN
        v_full := jsonb_build_object('camera_queue', v_waiting, 'camera_queue_max', v_max);
    ELSIF v_percent >= (v_load->>'overload_percent')::numeric THEN
        v_full := jsonb_build_object('queue', v_load->'queued', 'queue_max', v_load->'max', 'load_percent', trunc(v_percent, 1));
    END IF;
    IF v_full IS NOT NULL AND NOT EXISTS (SELECT 1 FROM frames WHERE frame_uuid = p_frame_uuid) THEN
        RETURN v_full || jsonb_build_object('outcome', 'QUEUE_FULL', 'retry_after', 5);
    END IF;

    INSERT INTO frames (frame_uuid, camera_id, captured_at, received_at, image_bytes, analyze_job_id)
    VALUES (p_frame_uuid, p_camera, p_captured_at, v_now, p_image_bytes, nextval('inference_jobs_job_id_seq'))
    ON CONFLICT (frame_uuid) DO NOTHING
    RETURNING frame_id, analyze_job_id INTO v_frame, v_job;
    IF v_frame IS NULL THEN
        SELECT j.job_id INTO v_job FROM frames f LEFT JOIN inference_jobs j ON j.job_id = f.analyze_job_id
        WHERE f.frame_uuid = p_frame_uuid AND f.camera_id = p_camera;
        IF NOT FOUND THEN
            RETURN jsonb_build_object('outcome', 'FRAME_CONFLICT');
        END IF;
        RETURN jsonb_build_object('outcome', 'ACCEPTED', 'frame_uuid', p_frame_uuid, 'job_id', v_job, 'duplicate', true);
    END IF;

    INSERT INTO inference_jobs (job_id, kind, priority, camera_id, frame_id, captured_at, max_attempt, created_at, available_at)
    OVERRIDING SYSTEM VALUE
    VALUES (v_job, 'analyze', p_priority, p_camera, v_frame, p_captured_at, setting_number('job_max_attempt'), v_now, v_now);
    PERFORM job_wake();
    RETURN jsonb_build_object('outcome', 'ACCEPTED', 'frame_uuid', p_frame_uuid, 'job_id', v_job, 'duplicate', false)
        || CASE WHEN v_percent >= (v_load->>'warning_percent')::numeric THEN jsonb_build_object('queue', v_load - 'crowded') ELSE '{}' END;
END $$;
