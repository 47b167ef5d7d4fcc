/* SPDX-License-Identifier: Apache-2.0
 * The paths this node serves. */
#ifndef CAM_ANALYZER_ROUTES_H
#define CAM_ANALYZER_ROUTES_H

#include "analyzer/request.h"

/* What becomes of a body while it comes in. */
enum body_use { BODY_IGNORED, BODY_KEPT, BODY_FORM };

struct route {
	const char *method, *path;
	enum body_use body_use;
	size_t body_max;
	enum stats_kind kind;
	bool scripted; /* whether rules of a script apply */
	enum MHD_Result (*handle)(struct request *r);
};

/* Sets route, allow, kind and body_max of the request. */
void route_find(struct request *r);

#endif
