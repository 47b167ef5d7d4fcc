-- What answers that may be repeated took.

-- It returns more.
DROP FUNCTION IF EXISTS camserver.lease_facts(text, text, timestamptz);
