-- pool_set(name, changes): make a pool or change it. p_changes holds column names and values; an unknown name is an
-- error; what is not named stays; null or '' takes back what may be absent. command may be an array, or a text that is
-- split at blanks; environment an object. A change makes a pool that kept failing usable at once, and takes effect at
-- once; workers that run already stay as they were started.
-- Returns true if the pool is new. Locks: the pool.
CREATE OR REPLACE FUNCTION camserver.pool_set(p_name text, p_changes jsonb DEFAULT '{}') RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    v_allowed text[] := ARRAY['driver', 'command', 'image', 'environment', 'host', 'max_capacity', 'min_idle',
        'max_waiters', 'idle_timeout_sec', 'acquire_timeout_sec', 'start_timeout_sec', 'stop_grace_sec', 'health_path',
        'call_path', 'container_port', 'memory_mb', 'open_files', 'draining'];
    v_changes jsonb := p_changes;
    v_text text;
    v_pool pools;
    v_new pools;
    v_now timestamptz;
    v_is_new boolean;
BEGIN
    SELECT k INTO v_text FROM jsonb_object_keys(p_changes) k WHERE k <> ALL (v_allowed) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a pool has no property "%"', v_text
            USING ERRCODE = 'undefined_column', HINT = 'Properties: ' || array_to_string(v_allowed, ', ') || '.';
    END IF;
    SELECT jsonb_object_agg(key, CASE
        WHEN value = '""' THEN 'null'
        WHEN jsonb_typeof(value) = 'string' AND key = 'command' AND value #>> '{}' !~ '^\s*\[' THEN
            to_jsonb(regexp_split_to_array(btrim(value #>> '{}'), '\s+'))
        WHEN jsonb_typeof(value) = 'string' AND key IN ('command', 'environment') THEN (value #>> '{}')::jsonb
        ELSE value END) INTO v_changes FROM jsonb_each(p_changes);
    v_changes := coalesce(v_changes, '{}');

    v_pool := pool_lock(p_name);
    v_now := clock_timestamp();
    v_is_new := v_pool.name IS NULL;
    IF v_is_new THEN
        -- The row's defaults, without a row: the checks are to judge the whole.
        v_new := jsonb_populate_record(NULL::pools, jsonb_build_object('driver', 'exec', 'command', '[]'::jsonb,
            'environment', '{}'::jsonb, 'max_capacity', 50, 'min_idle', 0, 'max_waiters', 1000, 'idle_timeout_sec', 300,
            'start_timeout_sec', 30, 'stop_grace_sec', 10, 'health_path', '/healthz', 'call_path', '/v1/analyze',
            'draining', false) || v_changes);
        IF v_new.driver = 'exec' AND v_new.image IS NOT NULL AND NOT p_changes ? 'driver' THEN
            v_new.driver := 'docker';
        END IF;
        INSERT INTO pools (name, driver, command, image, environment, host, max_capacity, min_idle, max_waiters,
            idle_timeout_sec, acquire_timeout_sec, start_timeout_sec, stop_grace_sec, health_path, call_path,
            container_port, memory_mb, open_files, draining)
        VALUES (p_name, v_new.driver, v_new.command, v_new.image, v_new.environment, v_new.host, v_new.max_capacity,
            v_new.min_idle, v_new.max_waiters, v_new.idle_timeout_sec, v_new.acquire_timeout_sec, v_new.start_timeout_sec,
            v_new.stop_grace_sec, v_new.health_path, v_new.call_path, v_new.container_port, v_new.memory_mb,
            v_new.open_files, v_new.draining);
    ELSE
        v_new := jsonb_populate_record(v_pool, v_changes);
        UPDATE pools SET driver = v_new.driver, command = v_new.command, image = v_new.image,
            environment = v_new.environment, host = v_new.host, max_capacity = v_new.max_capacity,
            min_idle = v_new.min_idle, max_waiters = v_new.max_waiters, idle_timeout_sec = v_new.idle_timeout_sec,
            acquire_timeout_sec = v_new.acquire_timeout_sec, start_timeout_sec = v_new.start_timeout_sec,
            stop_grace_sec = v_new.stop_grace_sec, health_path = v_new.health_path, call_path = v_new.call_path,
            container_port = v_new.container_port, memory_mb = v_new.memory_mb, open_files = v_new.open_files,
            draining = v_new.draining, fail_streak = 0, retry_at = NULL, updated_at = v_now
        WHERE name = p_name;
    END IF;
    v_pool := pool_lock(p_name);
    v_now := clock_timestamp();
    PERFORM pool_plan(v_pool, v_now);
    RETURN v_is_new;
END $$;
