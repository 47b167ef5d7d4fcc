/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/suggest.h"

#include <string.h>

enum { POINTS_PER_SEVERITY = 20, POINTS_HAZARD = 100 };

static const struct {
	const char *primary_event;
	int points;
} kinds[] = {{"camera_issue", 80}, {"unknown", 50}, {"human", 30}, {"animal", 20}};

static bool has_hazard(const char *primary_event, const char *const *tags, size_t n)
{
	if (strcmp(primary_event, "hazard") == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (strncmp(tags[i], "hazard.", strlen("hazard.")) == 0)
			return true;
	return false;
}

struct suggest_score suggest_score(int severity, const char *primary_event, const char *const *tags, size_t n)
{
	struct suggest_score s = {.hazard = has_hazard(primary_event, tags, n)};

	if (strcmp(primary_event, "none") == 0 && !s.hazard)
		return s;
	s.score = POINTS_PER_SEVERITY * severity + (s.hazard ? POINTS_HAZARD : 0);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(primary_event, kinds[i].primary_event) == 0)
			s.score += kinds[i].points;
	return s;
}
