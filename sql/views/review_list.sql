-- What was put to the language model, what it said, and what was not asked and why; newest first.
CREATE OR REPLACE VIEW camserver.review_list AS
SELECT r.review_id, e.event_uuid, r.camera_id, r.outcome, r.reason, r.model, r.summary, r.asked_at, r.finished_at
FROM camserver.llm_reviews r JOIN camserver.events e USING (event_id)
ORDER BY r.review_id DESC;
