-- expire_rows(table, condition): a step of expire_run() that deletes rows of the table; the condition may end in ORDER BY.
-- Internal.
CREATE OR REPLACE FUNCTION camserver.expire_rows(p_table regclass, p_condition text) RETURNS text
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN format('gone AS (DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$s WHERE %2$s LIMIT $1 FOR UPDATE SKIP LOCKED))'
        ' RETURNING ctid AS id)', p_table, p_condition);
END $$;
