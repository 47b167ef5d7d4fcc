-- archive_removed(frames): the files of these images, which archive_expire() gave, are deleted. What time does not allow to
-- be noted is given again. Returns how many were noted.
CREATE OR REPLACE FUNCTION camserver.archive_removed(p_frames bigint[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN expire_run(ARRAY[format(
        'e AS (SELECT frame_id FROM archive_objects WHERE frame_id = ANY (%L) AND lingers LIMIT $1 FOR UPDATE SKIP LOCKED),'
        'gone AS (UPDATE archive_objects o SET lingers = false FROM e WHERE o.frame_id = e.frame_id RETURNING o.frame_id AS id)',
        p_frames)])->'count';
END $$;
