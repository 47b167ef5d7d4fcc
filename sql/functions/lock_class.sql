-- lock_class(purpose): the first key of every two-key advisory lock, one number per purpose.
-- Locks of several classes are taken in the order of the list below; within a class in ascending second key.
CREATE OR REPLACE FUNCTION camserver.lock_class(p_purpose text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE p_purpose
        WHEN 'camera' THEN 22003      -- second key: cameras.lock_id
        WHEN 'escalate' THEN 22004    -- second key: 0
        WHEN 'summary' THEN 22007     -- second key: channels.channel_id; only ever tried, not waited for
        WHEN 'suggest' THEN 22001     -- second key: 0
        WHEN 'stream' THEN 22002      -- second key: stream_servers.lock_id
        WHEN 'limits' THEN 22005      -- second key: 0; shared by permits, exclusive to change limits; buckets' rows after it
        WHEN 'pool' THEN 22006        -- second key: pools.lock_id
    END
$$;
