-- job_token(at): a token for a claim made at that time: the millisecond, and below it a number from a sequence. Later ones are
-- greater. It is never given twice, not even by a server that has come back from a crash and has forgotten the latest of its
-- sequence's numbers together with the claims that they were for: by then it is another millisecond. Internal; inlined.
CREATE OR REPLACE FUNCTION camserver.job_token(p_at timestamptz) RETURNS bigint
LANGUAGE sql AS $$
    SELECT ((extract(epoch FROM p_at) * 1000)::bigint << 16) + (nextval('camserver.job_token_seq') & 65535)
$$;
