-- event_list(...): a page of events, newest first by (start_at, event_id), as GET /api/events answers it.
--   p_camera, p_primary_event, p_state   only these; NULL: any
--   p_severity                           severity_max at least this
--   p_since, p_before                    start_at from p_since on, before p_before
--   p_limit                              1 to 200; NULL: 50
--   p_cursor                             "next" of the page before
-- Returns jsonb: outcome OK with events, and next (null on the last page); BAD_CURSOR. Locks nothing.
-- A page starts where the last one ended, by the index: the thousandth costs what the first does. Plans are made for
-- the call's own values: one plan for all would have to do without the indexes.
CREATE OR REPLACE FUNCTION camserver.event_list(
    p_camera text DEFAULT NULL, p_primary_event text DEFAULT NULL, p_state camserver.event_state DEFAULT NULL,
    p_severity integer DEFAULT NULL, p_since timestamptz DEFAULT NULL, p_before timestamptz DEFAULT NULL,
    p_limit integer DEFAULT NULL, p_cursor text DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    c_last_us CONSTANT bigint := 253402300799999999; -- the end of the year 9999
    v_limit integer := least(greatest(coalesce(p_limit, 50), 1), 200);
    v_us bigint;
    v_at timestamptz := 'infinity';
    v_id bigint := 0;
    v_since timestamptz := coalesce(p_since, '-infinity');
    v_events jsonb;
    v_found integer;
    v_next text;
BEGIN
    -- 'e', microseconds of start_at, event_id: the last event that was shown.
    IF p_cursor IS NOT NULL THEN
        IF p_cursor !~ '^e[0-9a-f]{32}$' THEN
            RETURN jsonb_build_object('outcome', 'BAD_CURSOR');
        END IF;
        v_us := ('x' || substr(p_cursor, 2, 16))::bit(64)::bigint;
        v_id := ('x' || substr(p_cursor, 18, 16))::bit(64)::bigint;
        IF v_us NOT BETWEEN 0 AND c_last_us OR v_id < 1 THEN
            RETURN jsonb_build_object('outcome', 'BAD_CURSOR');
        END IF;
        v_at := 'epoch'::timestamptz + v_us / 1000000 * interval '1 second' + v_us % 1000000 * interval '1 microsecond';
    END IF;
    IF p_before <= v_at THEN
        v_at := p_before;
        v_id := 0;
    END IF;

    WITH page AS MATERIALIZED (
        SELECT e AS event, e.start_at, e.event_id FROM events e
        WHERE (e.start_at, e.event_id) < (v_at, v_id) AND e.start_at >= v_since
          AND (p_camera IS NULL OR e.camera_id = p_camera)
          AND (p_primary_event IS NULL OR e.primary_event = p_primary_event)
          AND (p_state IS NULL OR e.state = p_state)
          AND (p_severity IS NULL OR e.severity_max >= p_severity)
        ORDER BY e.start_at DESC, e.event_id DESC LIMIT v_limit + 1
    ), placed AS (
        SELECT p.*, row_number() OVER (ORDER BY p.start_at DESC, p.event_id DESC) AS place FROM page p
    )
    SELECT count(*), coalesce(jsonb_agg(event_json(p.event) ORDER BY p.place) FILTER (WHERE p.place <= v_limit), '[]'),
        max('e' || lpad(to_hex((extract(epoch FROM p.start_at) * 1000000)::bigint), 16, '0')
            || lpad(to_hex(p.event_id), 16, '0')) FILTER (WHERE p.place = v_limit)
    INTO v_found, v_events, v_next FROM placed p;
    RETURN jsonb_build_object('outcome', 'OK', 'events', v_events,
        'next', CASE WHEN v_found > v_limit THEN v_next END);
END $$;
