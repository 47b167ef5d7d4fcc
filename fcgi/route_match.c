/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/routes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* HEAD is answered like GET, without the body. */
static bool same_method(const char *route, const char *request)
{
	return strcmp(route, request) == 0 || (strcmp(route, "GET") == 0 && strcmp(request, "HEAD") == 0);
}

/* Matches segment by segment; the segments at placeholders go to r->args. */
static bool matches(const char *pattern, struct request *r)
{
	const char *path = r->path;
	size_t starts[REQUEST_ARGS_MAX], n = 0;

	while (*pattern == '/' && *path == '/') {
		size_t plen = strcspn(++pattern, "/"), len = strcspn(++path, "/");

		if (*pattern == '{') {
			if (len == 0 || n == REQUEST_ARGS_MAX)
				return false;
			starts[n++] = (size_t)(path - r->path);
		} else if (plen != len || strncmp(pattern, path, len) != 0) {
			return false;
		}
		pattern += plen;
		path += len;
	}
	if (*pattern != '\0' || *path != '\0')
		return false;
	if (n > 0)
		strcpy(r->segments, r->path);
	for (size_t i = 0; i < n; i++) {
		r->args[i] = r->segments + starts[i];
		r->args[i][strcspn(r->args[i], "/")] = '\0';
	}
	return true;
}

const struct route *route_match(
    const struct route *routes, size_t n, struct request *r, char *ret_allow, size_t allow_size)
{
	size_t len = 0;

	ret_allow[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!matches(routes[i].pattern, r))
			continue;
		if (same_method(routes[i].method, r->method))
			return &routes[i];
		len += (size_t)snprintf(ret_allow + len, allow_size - len, "%s%s%s", len > 0 ? ", " : "",
		    routes[i].method, strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
	}
	return NULL;
}
