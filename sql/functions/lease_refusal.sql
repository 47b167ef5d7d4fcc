-- lease_refusal(facts, cost, at): the first reason why these facts refuse a lease, as the answer to the
-- client, or NULL. The order is the contract: overload, one lease per user, budget. good_ms in it says for how long it
-- cannot turn into a grant by the passing of time alone, a minute at most: until the overload's sample is stale, until a
-- lease can be dead. Internal.
CREATE OR REPLACE FUNCTION camserver.lease_refusal(
    p_facts record, p_cost integer, p_at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_first timestamptz;
    v_numbers jsonb := jsonb_build_object(
        'units_needed', p_cost,
        'units_available', greatest(0, p_facts.budget - p_facts.units_used),
        'modal_budget', p_facts.budget,
        'modal_usage', p_facts.units_used);
BEGIN
    IF p_facts.overloaded THEN
        RETURN v_numbers || jsonb_build_object('outcome', 'SYSTEM_OVERLOAD',
            'retry_after', least(60, greatest(5, ceil(p_facts.overload_left_sec)))::integer,
            'good_ms', trunc(1000 * extract(epoch FROM least(p_facts.overloaded_until, p_at + interval '1 minute') - p_at))::integer);
    END IF;
    IF p_facts.own_alive THEN
        RETURN v_numbers || jsonb_build_object('outcome', 'USER_ALREADY_HAS_MODAL',
            'retry_after', greatest(1, ceil(extract(epoch FROM (p_facts.own).expires_at - p_at)))::integer,
            'lease_id', (p_facts.own).lease_id,
            'camera_id', (p_facts.own).camera_id);
    END IF;
    IF p_facts.units_used + p_cost > p_facts.budget THEN
        SELECT min(expires_at) INTO v_first FROM camserver.modal_leases
        WHERE stream_server_id = (p_facts.server).stream_server_id;
        RETURN v_numbers || jsonb_build_object('outcome', 'OVER_CAPACITY',
            'retry_after', least(30, greatest(1, coalesce(ceil(extract(epoch FROM v_first - p_at)), 30)))::integer,
            'good_ms', trunc(1000 * extract(epoch FROM greatest(p_at, least(p_facts.next_dead_at, p_at + interval '1 minute')) - p_at))::integer);
    END IF;
    RETURN NULL;
END $$;
