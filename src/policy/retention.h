/* SPDX-License-Identifier: Apache-2.0
 * How long a frame is kept: rules by which the first match decides; the specification's table 8.1 until the database
 * says otherwise. (The class `case` is given by a person, not by this.) */
#ifndef CAM_RETENTION_H
#define CAM_RETENTION_H

#include <stdbool.h>
#include <stddef.h>

enum { RETENTION_RULES_MAX = 128, RETENTION_PATTERN_MAX = 128 };

struct retention_rule {
	char pattern[RETENTION_PATTERN_MAX + 1]; /* a tag, hazard.* for a group, unknown_flag, severity>=N */
	bool quarantine;                         /* else normal */
};

struct retention_rules {
	struct retention_rule rules[RETENTION_RULES_MAX];
	size_t n;
};

struct retention {
	const char *class;  /* "normal" or "quarantine" */
	const char *reason; /* what matched: the tag, "unknown_flag", "severity"; else "detected", "not detected" */
};

extern const struct retention_rules retention_default_rules;

/* tags may be NULL when n is 0. The returned reason is a constant or one of the tags. */
struct retention retention_classify(const struct retention_rules *rules, const char *const *tags, size_t n,
    int severity, bool unknown_flag, bool detected);

#endif
