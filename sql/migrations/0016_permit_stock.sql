-- Permits in stock: where a model has plenty, a process may be given many calls in advance and begin them without asking.

ALTER TABLE camserver.buckets ADD COLUMN stocked integer NOT NULL DEFAULT 0 CHECK (stocked >= 0);
COMMENT ON COLUMN camserver.buckets.running IS 'The slots of the permits that name this bucket; changes only together with their rows.';
COMMENT ON COLUMN camserver.buckets.stocked IS
    'Tokens in stock with processes: the tokens of the permits that name this bucket. They count as if they were in the bucket when it is refilled, so that stock and bucket together are never more than requests.';

ALTER TABLE camserver.permits
    ADD COLUMN stock    boolean NOT NULL DEFAULT false,
    ADD COLUMN slots    integer NOT NULL DEFAULT 1 CHECK (slots >= 0),
    ADD COLUMN tokens   integer NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    ADD COLUMN reported integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN camserver.permits.stock IS 'Not for one call but for as many as there are slots: begun ones, and those that its holder has a token for.';
COMMENT ON COLUMN camserver.permits.tokens IS 'Of a stock: tokens that its holder has not yet said that it used.';
COMMENT ON COLUMN camserver.permits.reported IS 'Of a stock: how many of its calls are in permit_calls.';
CREATE INDEX permits_stock ON camserver.permits (model) WHERE stock;

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('permit_stock_max', '1024', 'integer', 0, 10000, 'calls that a process may be granted in advance where a model has plenty; 0: each call is asked for');

-- Whether anybody's time in a queue is over need not be asked of everybody in it.
ALTER TABLE camserver.buckets ADD COLUMN waiter_due_at timestamptz NOT NULL DEFAULT 'infinity';
COMMENT ON COLUMN camserver.buckets.waiter_due_at IS 'No waiter for the model passes its deadline or is believed lost before then.';
UPDATE camserver.buckets b SET waiter_due_at = '-infinity' WHERE b.waiting > 0;

-- Of calls that were made, which are by far the most, only the time is looked for.
DROP INDEX camserver.permit_calls_model;
CREATE INDEX permit_calls_refused ON camserver.permit_calls (model, ended_at) WHERE outcome IN ('refused', 'deadline');
