-- permit_room(holder, model): about how many permits the process could be given at once - what it was given and has not
-- used, and what there is if nobody waits - and one more, for which it would wait. Saves a claim from locking many jobs in
-- vain; the truth is permit_claim's. 0 for a model that is not enabled. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.permit_room(p_holder uuid, p_model text) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_model models;
    v_room integer;
BEGIN
    SELECT * INTO v_model FROM models WHERE model = p_model;
    IF NOT v_model.enabled THEN
        RETURN 0;
    END IF;
    SELECT CASE WHEN max(b.waiting) > 0 THEN 0 ELSE min(least((bucket_refilled(b, v_now)).tokens, b.concurrent - b.running)) END
    INTO v_room FROM buckets b WHERE b.bucket_id = ANY (v_model.bucket_ids);
    RETURN 1 + greatest(0, v_room)
        + (SELECT count(*) FROM permits p WHERE p.holder = p_holder AND p.model = p_model AND p.fresh);
END $$;
