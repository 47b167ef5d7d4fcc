-- escalate_answered(event, answer): what the model said: jsonb with outcome, reason, model, summary, answer,
-- answer_text. Internal: the caller holds the camera's lock. Only an answer that is ok changes the event.
CREATE OR REPLACE FUNCTION camserver.escalate_answered(p_event bigint, p_answer jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_summary text := left(p_answer->>'summary', 2000);
BEGIN
    UPDATE llm_reviews SET outcome = p_answer->>'outcome', reason = left(p_answer->>'reason', 500),
        model = left(p_answer->>'model', 200), summary = v_summary, answer = p_answer->'answer',
        answer_text = left(p_answer->>'answer_text', 8000), finished_at = clock_timestamp()
    WHERE event_id = p_event;
    IF p_answer->>'outcome' = 'ok' THEN
        UPDATE events SET summary = v_summary, updated_at = clock_timestamp() WHERE event_id = p_event;
    END IF;
END $$;
