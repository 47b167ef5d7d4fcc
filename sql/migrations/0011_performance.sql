-- What measurements asked for (doc/PERFORMANCE.md).

-- A permit lives for one call. Its dead entries must not be in the way of who looks for something else: what has run out
-- is found by its time, and what nobody has been told of yet is hardly ever there.
DROP INDEX camserver.permits_model;
CREATE INDEX permits_model ON camserver.permits (model, expires_at);
DROP INDEX camserver.permits_holder;
CREATE INDEX permits_fresh ON camserver.permits (holder) WHERE fresh;
