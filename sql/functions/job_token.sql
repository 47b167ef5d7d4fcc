-- job_token(at, n): the token of the n-th job of a claim made at that time: in microseconds, so that a claim is over before its
-- tokens are used up, and a job's next claim has a greater one. It takes nothing that a crash could bring back: not even a server
-- that has forgotten a claim gives the same job the same token again. Small enough for programs that count in doubles. Internal;
-- inlined.
CREATE OR REPLACE FUNCTION camserver.job_token(p_at timestamptz, p_n bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT (extract(epoch FROM p_at - timestamptz '2025-01-01 00:00:00+00') * 1000000)::bigint + p_n
$$;
