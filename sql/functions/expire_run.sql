-- expire_run(steps, max): the one way in which things expire: a few rows at a time, so that nobody waits long for their locks,
-- however loaded the machine is. Each step is SQL up to a CTE "gone" with a column "id" that takes up to $1 rows away. The
-- steps take turns, from any of them on, a slice of expire_slice_rows each, until none finds anything, expire_budget_ms
-- have passed since the first, or max rows are gone. What somebody else has locked waits for the next call.
-- The plans are the ones for a few rows, by an index in its order, whatever is known of the tables: a sort of all that has
-- expired would have to be made for every slice.
-- Internal. Returns jsonb: count; more = true unless no step found any more; ids of what is gone, as text.
CREATE OR REPLACE FUNCTION camserver.expire_run(p_steps text[], p_max integer DEFAULT 1000) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    v_end timestamptz := clock_timestamp() + setting_number('expire_budget_ms')::float8 * interval '1 ms';
    v_slice integer := setting_number('expire_slice_rows');
    v_at integer := floor(random() * cardinality(p_steps));
    v_steps text[] := p_steps[v_at + 1:] || p_steps[:v_at];
    v_ids text[];
    v_gone text[] := '{}';
BEGIN
    WHILE cardinality(v_steps) > 0 AND cardinality(v_gone) < p_max LOOP
        EXECUTE 'WITH ' || v_steps[1] || ' SELECT array_agg(id::text) FROM gone' INTO v_ids
            USING least(v_slice, p_max - cardinality(v_gone));
        v_gone := v_gone || v_ids;
        v_steps := v_steps[2:] || CASE WHEN v_ids IS NOT NULL THEN v_steps[:1] END;
        EXIT WHEN v_ids IS NOT NULL AND clock_timestamp() >= v_end;
    END LOOP;
    RETURN jsonb_build_object('count', cardinality(v_gone), 'more', cardinality(v_steps) > 0, 'ids', to_jsonb(v_gone));
END $$;
