/* SPDX-License-Identifier: Apache-2.0
 * How much a detection is worth everybody's look. The camera's weight, the decay and the comparison with what is
 * suggested now are the database's part (suggest_offer). */
#ifndef CAM_SUGGEST_H
#define CAM_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

struct suggest_score {
	int score; /* before the camera's weight; 0 for nothing detected */
	bool hazard;
};

/* primary_event is never NULL; tags may be NULL when n is 0. */
struct suggest_score suggest_score(int severity, const char *primary_event, const char *const *tags, size_t n);

#endif
