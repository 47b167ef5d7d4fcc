-- rfc3339(t): the one way a time is written in an answer, UTC with milliseconds. NULL for NULL and infinity.
CREATE OR REPLACE FUNCTION camserver.rfc3339(p_at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN isfinite(p_at)
        THEN to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END
$$;
