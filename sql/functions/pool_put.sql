-- pool_put(name, changes): pool_set for the API, which answers instead of raising.
-- Returns jsonb: outcome CREATED or OK with the pool; BAD_REQUEST with detail.
CREATE OR REPLACE FUNCTION camserver.pool_put(p_name text, p_changes jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_new boolean;
    v_constraint text;
BEGIN
    v_new := pool_set(p_name, p_changes);
    RETURN jsonb_build_object('outcome', CASE WHEN v_new THEN 'CREATED' ELSE 'OK' END, 'pool', pool_json(p_name));
EXCEPTION WHEN check_violation OR not_null_violation OR undefined_column OR data_exception THEN
    GET STACKED DIAGNOSTICS v_constraint = CONSTRAINT_NAME;
    RETURN jsonb_build_object('outcome', 'BAD_REQUEST', 'detail', CASE
        WHEN v_constraint ~ '^pools_.+_check$' THEN regexp_replace(v_constraint, '^pools_(.+)_check$', '\1') || ': this value is not allowed'
        WHEN v_constraint LIKE 'pools_check%' THEN 'these values do not go together: driver exec needs command, docker needs image'
        ELSE SQLERRM END);
END $$;
