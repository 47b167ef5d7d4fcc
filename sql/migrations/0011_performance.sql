-- What measurements asked for (doc/PERFORMANCE.md).

-- A permit lives for one call. Its dead entries must not be in the way of who looks for something else: what has run out
-- is found by its time, and what nobody has been told of yet is hardly ever there.
DROP INDEX camserver.permits_model;
CREATE INDEX permits_model ON camserver.permits (model, expires_at);
DROP INDEX camserver.permits_holder;
CREATE INDEX permits_fresh ON camserver.permits (holder) WHERE fresh;

-- Every index that a job's states are in costs an entry with every claim. Jobs that run are few, and the rescue looks at
-- all of them.
DROP INDEX camserver.jobs_deadline;

-- A frame is written once when it comes in and once when it is analysed. The second time stays in its page if no index
-- has to know: nearly always, as most frames show nothing. So images that go after a while are found by when they came,
-- among frames without an event; and a page has room for what the analysis adds to each of its rows.
DROP INDEX camserver.frames_undetected;
CREATE INDEX frames_undetected ON camserver.frames (received_at) WHERE event_id IS NULL AND image_removed_at IS NULL;
ALTER TABLE camserver.frames SET (fillfactor = 40);

-- A camera has one open event at most (events_one_open): few enough to look at them all. Without this index every
-- further frame of an event is an in-page update.
DROP INDEX camserver.events_stale;
