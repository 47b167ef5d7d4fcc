-- permit_queue: who waits for a permit, in the order in which they will be served, and for how much longer.
CREATE VIEW camserver.permit_queue AS
SELECT model, row_number() OVER (PARTITION BY model ORDER BY turn, ticket) AS place, caller, ticket, permit_id, holder, asked_at,
    greatest(0, round(extract(epoch FROM deadline_at - clock_timestamp()), 1)) AS gives_up_in_sec
FROM camserver.permit_waiters ORDER BY model, turn, ticket;
