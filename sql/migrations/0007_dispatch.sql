-- Models that run on workers of a pool; and the dispatcher's calls under the limits of models.

ALTER TABLE camserver.models ADD COLUMN pool text REFERENCES camserver.pools;
CREATE INDEX models_pool ON camserver.models (pool) WHERE pool IS NOT NULL;
COMMENT ON COLUMN camserver.models.pool IS 'Calls go to a worker of this pool; NULL: to the provider''s base_url.';

DROP FUNCTION IF EXISTS camserver.limits_parse(jsonb); -- returns more
