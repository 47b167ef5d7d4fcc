-- job_list(...): a page of jobs, newest first, as GET /api/jobs answers it.
--   p_status, p_kind, p_camera   only these; NULL: any
--   p_limit                      1 to 200; NULL: 50
--   p_cursor                     "next" of the page before
-- Returns jsonb: outcome OK with jobs, next (null on the last page), and counts: how many jobs are queued, waiting,
-- running and dead, whatever is asked for, each counted up to 10000 only; BAD_CURSOR. Locks nothing.
-- Each count has its index's order, so that it is read from there and never looks at a job that is done.
CREATE OR REPLACE FUNCTION camserver.job_list(
    p_status camserver.job_status DEFAULT NULL, p_kind camserver.job_kind DEFAULT NULL, p_camera text DEFAULT NULL,
    p_limit integer DEFAULT NULL, p_cursor text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c_count CONSTANT integer := 10000;
    v_limit integer := least(greatest(coalesce(p_limit, 50), 1), 200);
    v_before bigint := 9223372036854775807;
    v_jobs jsonb;
    v_counts jsonb;
    v_found integer;
    v_next text;
BEGIN
    -- 'j' and the last job that was shown.
    IF p_cursor IS NOT NULL THEN
        IF p_cursor !~ '^j[0-7][0-9a-f]{15}$' THEN
            RETURN jsonb_build_object('outcome', 'BAD_CURSOR');
        END IF;
        v_before := ('x' || substr(p_cursor, 2))::bit(64)::bigint;
    END IF;

    WITH page AS MATERIALIZED (
        SELECT j.* FROM inference_jobs j
        WHERE j.job_id < v_before
          AND (p_status IS NULL OR j.status = p_status)
          AND (p_kind IS NULL OR j.kind = p_kind)
          AND (p_camera IS NULL OR j.camera_id = p_camera)
        ORDER BY j.job_id DESC LIMIT v_limit + 1
    ), placed AS (
        SELECT p.*, row_number() OVER (ORDER BY p.job_id DESC) AS place FROM page p
    )
    SELECT count(*), coalesce(jsonb_agg(jsonb_build_object(
            'job_id', p.job_id, 'kind', p.kind, 'status', p.status, 'priority', p.priority, 'camera_id', p.camera_id,
            'frame_uuid', (SELECT f.frame_uuid FROM frames f WHERE f.frame_id = p.frame_id),
            'attempt', p.attempt, 'max_attempt', p.max_attempt, 'created_at', rfc3339(p.created_at),
            'available_at', rfc3339(p.available_at), 'locked_by', p.locked_by, 'last_error', p.last_error,
            'finished_at', rfc3339(p.finished_at)) ORDER BY p.place) FILTER (WHERE p.place <= v_limit), '[]'),
        max('j' || lpad(to_hex(p.job_id), 16, '0')) FILTER (WHERE p.place = v_limit)
    INTO v_found, v_jobs, v_next FROM placed p;

    SELECT jsonb_build_object(
        'queued', (SELECT count(*) FROM (SELECT 1 FROM inference_jobs WHERE status = 'queued'
            ORDER BY kind, priority DESC, job_id LIMIT c_count) n),
        'waiting', (SELECT count(*) FROM (SELECT 1 FROM inference_jobs WHERE status = 'waiting'
            ORDER BY available_at LIMIT c_count) n),
        'running', (SELECT count(*) FROM (SELECT 1 FROM inference_jobs WHERE status = 'running'
            ORDER BY locked_by LIMIT c_count) n),
        'dead', (SELECT count(*) FROM (SELECT 1 FROM inference_jobs WHERE status = 'dead'
            ORDER BY finished_at LIMIT c_count) n))
    INTO v_counts;
    RETURN jsonb_build_object('outcome', 'OK', 'jobs', v_jobs, 'next', CASE WHEN v_found > v_limit THEN v_next END,
        'counts', v_counts);
END $$;
