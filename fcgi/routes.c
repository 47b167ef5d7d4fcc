/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/routes.h"

#include "common/spool.h"
#include "fcgi/handlers.h"

enum { SMALL_BODY = 4 * 1024, POOL_BODY = 64 * 1024 };

static const struct route routes[] = {
    {"POST", "/api/modal/lease", "viewer", SMALL_BODY, handle_lease_acquire},
    {"POST", "/api/modal/lease/{lease_id}/heartbeat", "viewer", SMALL_BODY, handle_lease_heartbeat},
    {"DELETE", "/api/modal/lease/{lease_id}", "viewer", SMALL_BODY, handle_lease_release},
    {"POST", "/api/frames", "ingest", FRAME_BYTES_MAX, handle_frame_ingest},
    {"GET", "/api/cameras", "viewer", 0, handle_camera_list},
    {"GET", "/api/cameras/{camera_id}/latest.jpg", "viewer", 0, handle_camera_latest},
    {"GET", "/api/events", "viewer", 0, handle_event_list},
    {"GET", "/api/events/{event_uuid}", "viewer", 0, handle_event_get},
    {"PUT", "/api/events/{event_uuid}/case", "operator", SMALL_BODY, handle_case_attach},
    {"DELETE", "/api/events/{event_uuid}/case", "operator", SMALL_BODY, handle_case_detach},
    {"POST", "/api/media/link", "viewer", SMALL_BODY, handle_media_link},
    {"GET", "/media/frame/{frame_uuid}", NULL, 0, handle_media_frame},
    {"GET", "/api/jobs", "operator", 0, handle_job_list},
    {"POST", "/api/jobs/{job_id}/retry", "operator", SMALL_BODY, handle_job_retry},
    {"POST", "/api/jobs/{job_id}/cancel", "operator", SMALL_BODY, handle_job_cancel},
    {"GET", "/api/limits", "operator", 0, handle_limits_list},
    {"PUT", "/api/limits/global", "operator", SMALL_BODY, handle_limits_set_global},
    {"PUT", "/api/limits/provider/{provider}", "operator", SMALL_BODY, handle_limits_set_provider},
    {"PUT", "/api/limits/model/{model}", "operator", SMALL_BODY, handle_limits_set_model},
    {"GET", "/api/nodes", "operator", 0, handle_node_list},
    {"PUT", "/api/nodes/{name}", "operator", SMALL_BODY, handle_node_put},
    {"GET", "/api/pools", "operator", 0, handle_pool_list},
    {"GET", "/api/pools/{name}", "operator", 0, handle_pool_get},
    {"PUT", "/api/pools/{name}", "operator", POOL_BODY, handle_pool_put},
    {"PUT", "/api/servers/{stream_server_id}", "operator", SMALL_BODY, handle_server_put},
    {"GET", "/api/console/live", "viewer", 0, handle_console_live},
    {"GET", "/api/console/events", "viewer", 0, handle_console_events},
    {"GET", "/api/console/events/{event_uuid}", "viewer", 0, handle_console_event},
    {"GET", "/api/console/operations", "operator", 0, handle_console_operations},
    {"GET", "/api/system/status", "viewer", 0, handle_system_status},
    {"GET", "/api/suggest", "viewer", 0, handle_suggest},
    {"GET", "/healthz", NULL, 0, handle_healthz},
    {"GET", "/readyz", NULL, 0, handle_readyz},
    {"GET", "/metrics", NULL, 0, handle_metrics},
};

const struct route *route_find(struct request *r, char *ret_allow, size_t allow_size)
{
	return route_match(routes, sizeof routes / sizeof *routes, r, ret_allow, allow_size);
}
