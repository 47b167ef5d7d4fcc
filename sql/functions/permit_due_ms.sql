-- permit_due_ms(model, now): when the first in line of the model can be served by itself: when its next token comes, or a
-- permit runs out; a second at most where it depends on others, since their notification may not come through.
-- Locks nothing.
CREATE OR REPLACE FUNCTION camserver.permit_due_ms(p_model text, p_now timestamptz) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_unheard_ms CONSTANT integer := 1000;
BEGIN
    RETURN (
        SELECT ceil(greatest(1, max(CASE
            WHEN b.running >= b.concurrent THEN least(c_unheard_ms, 1000 * extract(epoch FROM (
                SELECT min(p.expires_at) FROM permits p WHERE b.bucket_id = ANY (p.bucket_ids)) - p_now))
            WHEN b.tokens < 1 THEN (b.window_ms * 1000::numeric - b.remainder) / b.requests / 1000
                - 1000 * extract(epoch FROM p_now - b.refilled_at)
            ELSE 0 END)))
        FROM models m JOIN buckets b ON b.bucket_id = ANY (m.bucket_ids) WHERE m.model = p_model);
END $$;
