-- Backpressure on the queue of analyses, and what /metrics tells of the pools.

-- How many analyses wait, counted now and then by whoever comes by, so that no request counts them; see queue_load().
CREATE TABLE camserver.queue_count (
    singleton  boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    queued     integer NOT NULL DEFAULT 0,
    counted_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 20);
INSERT INTO camserver.queue_count DEFAULT VALUES;

ALTER TABLE camserver.pools ADD COLUMN cold_starts bigint NOT NULL DEFAULT 0;
ALTER TABLE camserver.pools ADD COLUMN evictions bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN camserver.pools.cold_starts IS 'Calls that were given a worker nobody had used before.';
COMMENT ON COLUMN camserver.pools.evictions IS 'Workers lost in use: evicted, ended by themselves, or left by a dead holder.';

INSERT INTO camserver.settings (name, value, kind, min_value, max_value, description) VALUES
    ('ingest_queue_max',              '20000', 'integer', 1, 1000000, 'analyses that may wait in all; backpressure is measured against it'),
    ('gateway_queue_max',             '0',     'integer', 0, 100000,  'model calls that may wait in one gateway process; 0: as many as it has threads'),
    ('backpressure_warning_percent',  '50',    'number',  0, 100,     'from this load on requests are accepted after a delay'),
    ('backpressure_overload_percent', '80',    'number',  0, 100,     'from this load on requests are refused at once'),
    ('backpressure_delay_ms',         '100',   'integer', 0, 10000,   'the delay right below the refusal; it grows evenly from 0'),
    ('queue_count_ms',                '500',   'integer', 0, 60000,   'how old the count of waiting analyses may be');
