-- prune(): forget what is older than its keeping time, a small batch per table and call, and mend usage rows that
-- somebody's hand edit left wrong. What somebody else has locked waits for the next time.
-- Returns jsonb: count of rows, more = true while a batch was more than half full: rows that somebody changes meanwhile
-- drop out of theirs.
CREATE OR REPLACE FUNCTION camserver.prune() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = camserver, pg_temp AS $$
DECLARE
    c_batch CONSTANT integer := 1000;
    v_before timestamptz := clock_timestamp() - make_interval(hours => setting_number('metrics_keep_hours')::integer);
    v_jobs_before timestamptz := clock_timestamp() - make_interval(hours => setting_number('job_keep_hours')::integer);
    v_count integer;
    v_sum integer := 0;
    v_more boolean := false;
BEGIN
    DELETE FROM admission_metrics WHERE metric_id IN (
        SELECT metric_id FROM admission_metrics WHERE recorded_at < v_before LIMIT c_batch FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM modal_lease_log WHERE lease_id IN (
        SELECT lease_id FROM modal_lease_log WHERE ended_at < v_before LIMIT c_batch FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM inference_jobs WHERE job_id IN (
        SELECT job_id FROM inference_jobs WHERE status IN ('done', 'cancelled')
          AND finished_at < v_jobs_before
        ORDER BY finished_at LIMIT c_batch FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM inference_jobs WHERE job_id IN (
        SELECT job_id FROM inference_jobs WHERE status = 'dead'
          AND finished_at < clock_timestamp() - make_interval(days => setting_number('keep_dead_days')::integer)
        ORDER BY finished_at LIMIT c_batch FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM notifications WHERE notification_id IN (
        SELECT notification_id FROM notifications WHERE state NOT IN ('pending', 'sending')
          AND updated_at < clock_timestamp() - make_interval(days => setting_number('notify_keep_days')::integer)
        ORDER BY updated_at LIMIT c_batch FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM minute_history WHERE (minute, series) IN (
        SELECT minute, series FROM minute_history WHERE minute < v_before ORDER BY minute LIMIT c_batch);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM audit WHERE audit_id IN (
        SELECT audit_id FROM audit
        WHERE at < clock_timestamp() - make_interval(days => setting_number('audit_keep_days')::integer)
        ORDER BY at LIMIT c_batch);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count;
    v_more := v_more OR v_count > c_batch / 2;

    DELETE FROM node_reports WHERE reported_at < v_before;
    DELETE FROM dispatchers WHERE last_heartbeat < v_before;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_sum := v_sum + v_count + usage_recount();
    RETURN jsonb_build_object('count', v_sum, 'more', v_more);
END $$;
