-- spool_unknown(uuids): those of them that no frame has, or whose frame has lost its image: files in the spool that nobody
-- will ask for. Locks nothing.
CREATE OR REPLACE FUNCTION camserver.spool_unknown(p_files uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT u FROM unnest(p_files) u
    WHERE NOT EXISTS (SELECT 1 FROM frames f WHERE f.frame_uuid = u AND f.image_removed_at IS NULL);
END $$;
