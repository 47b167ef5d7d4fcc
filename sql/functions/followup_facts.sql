-- followup_facts(job): what a dispatcher must know to do this follow-up, as jsonb; NULL if its frame, event or
-- notification is gone. Internal.
CREATE OR REPLACE FUNCTION camserver.followup_facts(p_job bigint) RETURNS jsonb
LANGUAGE plpgsql SET search_path = camserver, pg_temp AS $$
DECLARE
    v_job inference_jobs%ROWTYPE;
BEGIN
    SELECT * INTO v_job FROM inference_jobs WHERE job_id = p_job;
    RETURN CASE v_job.kind
        WHEN 'archive' THEN (
            SELECT jsonb_build_object('target', archive_path(f, e.case_id), 'bytes', f.image_bytes,
                'stored', CASE WHEN o.removed_at IS NULL THEN o.path END, 'driver', o.driver, 'sha256', o.sha256, 'lingers', coalesce(o.lingers, false))
            FROM frames f LEFT JOIN events e USING (event_id) LEFT JOIN archive_objects o ON o.frame_id = f.frame_id
            WHERE f.frame_id = v_job.frame_id)
        WHEN 'notify' THEN notify_facts(v_job.ref_id)
        WHEN 'escalate' THEN (
            SELECT jsonb_build_object('event_uuid', e.event_uuid, 'display_name', c.display_name,
                'location_label', c.location_label, 'timeout_sec', setting_number('escalate_timeout_sec'),
                'archive_path', (SELECT o.path FROM archive_objects o
                    WHERE o.frame_id = f.frame_id AND o.removed_at IS NULL AND o.driver = 'dir'))
            FROM events e, cameras c, frames f
            WHERE e.event_id = v_job.ref_id AND c.camera_id = v_job.camera_id AND f.frame_id = v_job.frame_id)
        END;
END $$;
