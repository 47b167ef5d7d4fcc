/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/routes.h"

#include "common/spool.h"
#include "fcgi/handlers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
    {"GET", "/api/jobs", "operator", 0, handle_job_list},
    {"POST", "/api/jobs/{job_id}/retry", "operator", SMALL_BODY, handle_job_retry},
    {"POST", "/api/jobs/{job_id}/cancel", "operator", SMALL_BODY, handle_job_cancel},
    {"GET", "/api/pools", "operator", 0, handle_pool_list},
    {"GET", "/api/pools/{name}", "operator", 0, handle_pool_get},
    {"PUT", "/api/pools/{name}", "operator", POOL_BODY, handle_pool_put},
    {"GET", "/api/system/status", "viewer", 0, handle_system_status},
    {"GET", "/api/suggest", "viewer", 0, handle_suggest},
    {"GET", "/healthz", NULL, 0, handle_healthz},
    {"GET", "/readyz", NULL, 0, handle_readyz},
};

/* HEAD is answered like GET, without the body. */
static bool same_method(const char *route, const char *request)
{
	return strcmp(route, request) == 0 || (strcmp(route, "GET") == 0 && strcmp(request, "HEAD") == 0);
}

/* Matches segment by segment; the segments at placeholders go to r->args. */
static bool matches(const char *pattern, struct request *r)
{
	char *path = r->segments;
	size_t n = 0;

	strcpy(r->segments, r->path);
	while (*pattern == '/' && *path == '/') {
		size_t plen = strcspn(++pattern, "/"), len = strcspn(++path, "/");

		if (*pattern == '{') {
			if (len == 0 || n == REQUEST_ARGS_MAX)
				return false;
			r->args[n++] = path;
		} else if (plen != len || strncmp(pattern, path, len) != 0) {
			return false;
		}
		pattern += plen;
		path += len;
	}
	if (*pattern != '\0' || *path != '\0')
		return false;
	for (size_t i = 0; i < n; i++)
		r->args[i][strcspn(r->args[i], "/")] = '\0';
	return true;
}

const struct route *route_find(struct request *r, char *ret_allow, size_t allow_size)
{
	size_t len = 0;

	ret_allow[0] = '\0';
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		if (!matches(routes[i].pattern, r))
			continue;
		if (same_method(routes[i].method, r->method))
			return &routes[i];
		len += (size_t)snprintf(ret_allow + len, allow_size - len, "%s%s%s", len > 0 ? ", " : "",
		    routes[i].method, strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
	}
	return NULL;
}
