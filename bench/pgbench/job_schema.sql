-- The plainest job table.
CREATE TABLE job (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state        smallint NOT NULL DEFAULT 0, -- 0 ready, 1 running, 2 done
    priority     smallint NOT NULL DEFAULT 0,
    run_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts     smallint NOT NULL DEFAULT 0,
    locked_by    integer,
    locked_until timestamptz,
    done_at      timestamptz,
    payload      jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX job_ready ON job (priority, run_at, id) WHERE state = 0;
