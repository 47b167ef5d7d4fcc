/* SPDX-License-Identifier: Apache-2.0
 * The table of what this program serves. */
#ifndef CAM_ROUTES_H
#define CAM_ROUTES_H

#include "fcgi/api.h"

#include <stddef.h>

struct route {
	const char *method;
	const char *pattern; /* {x} stands for one path segment, handed over in request.args */
	const char *role;    /* NULL: open to all, no caller is asked for */
	size_t body_max;
	void (*handle)(struct api *api, struct request *r, struct answer *a);
};

/* The route of a table of n that fits. Fills r->args. NULL when nothing fits; then *ret_allow lists the methods that
 * the path has, "" for none. */
const struct route *route_match(
    const struct route *routes, size_t n, struct request *r, char *ret_allow, size_t allow_size);
/* The same in the program's own table. */
const struct route *route_find(struct request *r, char *ret_allow, size_t allow_size);

#endif
