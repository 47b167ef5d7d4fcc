-- permit_enqueue(id, model, caller, holder, now, deadline, seen_until): a request takes its place in the model's queue: a turn
-- after its caller's last, or at the queue's own turn. What others have in stock of the model is called back. The caller has
-- permit_lock, and serves.
CREATE OR REPLACE FUNCTION camserver.permit_enqueue(p_id uuid, p_model text, p_caller text, p_holder uuid, p_now timestamptz,
    p_deadline timestamptz, p_seen_until timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_turn bigint;
    v_waiting integer;
BEGIN
    UPDATE buckets b SET waiting = b.waiting + 1, waiter_due_at = least(b.waiter_due_at, p_deadline, p_seen_until)
    WHERE b.level = 'model' AND b.name = p_model
    RETURNING b.turn, b.waiting INTO v_turn, v_waiting;
    IF v_waiting = 1 THEN
        PERFORM permit_recall(p_model);
    END IF;
    INSERT INTO permit_turns AS t (model, caller, turn) VALUES (p_model, p_caller, v_turn)
    ON CONFLICT (model, caller) DO UPDATE SET turn = greatest(t.turn + 1, excluded.turn) RETURNING t.turn INTO v_turn;
    INSERT INTO permit_waiters (permit_id, ticket, model, caller, holder, turn, asked_at, deadline_at, seen_until)
    VALUES (p_id, nextval('permit_ticket_seq'), p_model, p_caller, p_holder, v_turn, p_now, p_deadline, p_seen_until);
END $$;
