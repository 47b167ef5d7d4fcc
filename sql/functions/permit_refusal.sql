-- permit_refusal(id, model, reason, n, now): the words of a refusal: outcome RATE_LIMITED, its reason (WAIT_EXCEEDED,
-- QUEUE_FULL, DEADLINE), permit_facts of the n-th in line, and retry_after in seconds.
CREATE OR REPLACE FUNCTION camserver.permit_refusal(p_id uuid, p_model text, p_reason text, p_n integer, p_now timestamptz)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_facts jsonb := permit_facts(p_model, p_n, p_now);
BEGIN
    RETURN v_facts || jsonb_build_object('id', p_id, 'model', p_model, 'outcome', 'RATE_LIMITED', 'reason', p_reason,
        'place', p_n, 'retry_after', least(3600, greatest(1, ceil((v_facts->>'expected_wait_ms')::numeric / 1000))));
END $$;
