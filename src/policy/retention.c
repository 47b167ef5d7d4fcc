/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/retention.h"

#include <string.h>

enum { SEVERITY_QUARANTINE = 2 };

/* A name that ends in '.' stands for all tags that begin so. */
static const char *const quarantine_tags[] = {
    "hazard.",
    "camera.offline",
    "camera.moved",
    "camera.occluded",
    "behavior.loitering",
    "object_missing.suspected",
    "animal.deer",
    "animal.boar",
};

static bool matches(const char *tag, const char *rule)
{
	size_t len = strlen(rule);

	return rule[len - 1] == '.' ? strncmp(tag, rule, len) == 0 : strcmp(tag, rule) == 0;
}

struct retention retention_classify(const char *const *tags, size_t n, int severity, bool unknown_flag, bool detected)
{
	for (size_t r = 0; r < sizeof quarantine_tags / sizeof *quarantine_tags; r++)
		for (size_t i = 0; i < n; i++)
			if (matches(tags[i], quarantine_tags[r]))
				return (struct retention){"quarantine", tags[i]};
	if (unknown_flag)
		return (struct retention){"quarantine", "unknown_flag"};
	if (severity >= SEVERITY_QUARANTINE)
		return (struct retention){"quarantine", "severity"};
	return (struct retention){"normal", detected ? "detected" : "not detected"};
}
