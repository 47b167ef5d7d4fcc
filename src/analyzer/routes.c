/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/routes.h"

#include "analyzer/handlers.h"

#include <stdio.h>
#include <string.h>

/* A body that nobody asked for is read and dropped up to here, so that the connection can go on. */
enum { IGNORED_BODY_MAX = 64 * 1024 };

static const struct route routes[] = {
    {"GET", "/healthz", BODY_IGNORED, IGNORED_BODY_MAX, STATS_OTHER, true, handle_healthz},
    {"GET", "/v1/capabilities", BODY_IGNORED, IGNORED_BODY_MAX, STATS_OTHER, true, handle_capabilities},
    {"GET", "/v1/schema", BODY_IGNORED, IGNORED_BODY_MAX, STATS_OTHER, true, handle_schema_get},
    {"PUT", "/v1/schema", BODY_KEPT, SCHEMA_BODY_MAX, STATS_PUT_SCHEMA, true, handle_schema_put},
    {"POST", "/v1/analyze", BODY_FORM, FORM_BODY_MAX, STATS_ANALYZE, true, handle_analyze},
    {"GET", "/debug/requests", BODY_IGNORED, IGNORED_BODY_MAX, STATS_OTHER, false, handle_debug_requests},
};

/* HEAD is answered like GET, without the body. */
static bool same_method(const char *route, const char *request)
{
	return strcmp(route, request) == 0 || (strcmp(route, "GET") == 0 && strcmp(request, "HEAD") == 0);
}

void route_find(struct request *r)
{
	size_t len = 0;

	r->body_max = IGNORED_BODY_MAX;
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		const struct route *route = &routes[i];

		/* The debug path is only there for those who script. */
		if (strcmp(route->path, r->path) != 0 || (!route->scripted && r->analyzer->script == NULL))
			continue;
		if (!same_method(route->method, r->method)) {
			len += (size_t)snprintf(r->allow + len, sizeof r->allow - len, "%s%s%s", len > 0 ? ", " : "",
			    route->method, strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
			continue;
		}
		r->route = route;
		r->kind = route->kind;
		r->body_max = route->body_max;
		return;
	}
}
