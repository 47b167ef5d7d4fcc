/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/retention.h"

#include <stdlib.h>
#include <string.h>

static const char severity_word[] = "severity>=";

const struct retention_rules retention_default_rules = {
    .rules = {{"hazard.*", true}, {"camera.offline", true}, {"camera.moved", true}, {"camera.occluded", true},
	{"behavior.loitering", true}, {"object_missing.suspected", true}, {"animal.deer", true}, {"animal.boar", true},
	{"unknown_flag", true}, {"severity>=2", true}},
    .n = 10,
};

static bool tag_matches(const char *tag, const char *pattern)
{
	size_t len = strlen(pattern);

	if (len >= 2 && strcmp(pattern + len - 2, ".*") == 0)
		return strncmp(tag, pattern, len - 1) == 0;
	return strcmp(tag, pattern) == 0;
}

/* What the rule finds, or NULL. */
static const char *matches(
    const struct retention_rule *rule, const char *const *tags, size_t n, int severity, bool unknown_flag)
{
	if (strcmp(rule->pattern, "unknown_flag") == 0)
		return unknown_flag ? "unknown_flag" : NULL;
	if (strncmp(rule->pattern, severity_word, strlen(severity_word)) == 0)
		return severity >= atoi(rule->pattern + strlen(severity_word)) ? "severity" : NULL;
	for (size_t i = 0; i < n; i++)
		if (tag_matches(tags[i], rule->pattern))
			return tags[i];
	return NULL;
}

struct retention retention_classify(const struct retention_rules *rules, const char *const *tags, size_t n,
    int severity, bool unknown_flag, bool detected)
{
	for (size_t r = 0; r < rules->n; r++) {
		const char *reason = matches(&rules->rules[r], tags, n, severity, unknown_flag);

		if (reason != NULL)
			return (struct retention){rules->rules[r].quarantine ? "quarantine" : "normal", reason};
	}
	return (struct retention){"normal", detected ? "detected" : "not detected"};
}
