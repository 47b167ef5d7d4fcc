/* SPDX-License-Identifier: Apache-2.0
 * How long a frame is kept: the specification's table 8.1. (The class `case` is given by a person, not by this.) */
#ifndef CAM_RETENTION_H
#define CAM_RETENTION_H

#include <stdbool.h>
#include <stddef.h>

struct retention {
	const char *class; /* "normal" or "quarantine" */
	const char
	    *reason; /* the row of the table: the tag, or "unknown_flag", "severity", "detected", "not detected" */
};

/* tags may be NULL when n is 0. The returned reason is a constant or one of the tags. */
struct retention retention_classify(const char *const *tags, size_t n, int severity, bool unknown_flag, bool detected);

#endif
