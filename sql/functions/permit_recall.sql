-- permit_recall(model): stocks are called back, because somebody must wait for the model, or because its limits have changed
-- (NULL: all models'). Their holders are notified; permit_poll tells them which. Internal. Locks: the stocks' rows; the
-- caller has permit_lock.
CREATE OR REPLACE FUNCTION camserver.permit_recall(p_model text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_holder uuid;
BEGIN
    FOR v_holder IN
        WITH called AS (
            UPDATE permits p SET fresh = true
            WHERE p.stock AND NOT p.fresh AND p.tokens > 0 AND (p_model IS NULL OR p.model = p_model) RETURNING p.holder
        )
        SELECT DISTINCT c.holder FROM called c
    LOOP
        PERFORM pg_notify('permit_' || replace(v_holder::text, '-', ''), '');
    END LOOP;
END $$;
