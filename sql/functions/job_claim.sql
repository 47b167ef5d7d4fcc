-- job_claim(kind, dispatcher, n): what job_take() takes. A dispatcher that gets nothing is marked idle, so that the next
-- job wakes it.
CREATE OR REPLACE FUNCTION camserver.job_claim(p_kind camserver.job_kind, p_dispatcher uuid, p_n integer)
RETURNS TABLE (job_id bigint, token bigint, attempt integer, max_attempt integer, frame_uuid uuid, camera_id text, captured_at text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT * FROM job_take(p_kind, p_dispatcher, p_n);
    IF FOUND THEN
        UPDATE dispatchers SET idle = false WHERE dispatcher_id = p_dispatcher AND idle;
    ELSE
        UPDATE dispatchers SET idle = true WHERE dispatcher_id = p_dispatcher AND NOT idle;
    END IF;
END $$;
