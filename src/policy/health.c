/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/health.h"

#include <stdio.h>

const struct health_limits health_default_limits = {
    .overload = {85, 90, 100},
    .recover = {60, 70, 50},
    .recover_hold_sec = 60,
    .warning = {70, 75, 50},
};

/* Names the first measure above its limit in reason; false if none is. */
static bool above(const struct health_sample *s, const struct health_sample *limit, char *reason, size_t size)
{
	if (s->cpu_percent > limit->cpu_percent)
		snprintf(reason, size, "cpu %.1f %% > %g %%", s->cpu_percent, limit->cpu_percent);
	else if (s->memory_percent > limit->memory_percent)
		snprintf(reason, size, "memory %.1f %% > %g %%", s->memory_percent, limit->memory_percent);
	else if (s->swap_mb > limit->swap_mb)
		snprintf(reason, size, "swap %.0f MB > %g MB", s->swap_mb, limit->swap_mb);
	else
		return false;
	return true;
}

static bool calm(const struct health_sample *s, const struct health_sample *limit)
{
	return s->cpu_percent < limit->cpu_percent && s->memory_percent < limit->memory_percent &&
	       s->swap_mb < limit->swap_mb;
}

struct health_verdict health_judge(
    const struct health_state *before, const struct health_sample *now, const struct health_limits *limits)
{
	struct health_verdict v = {.level = HEALTH_NORMAL};

	if (above(now, &limits->overload, v.reason, sizeof v.reason)) {
		v.overloaded = v.tripped = true;
	} else if (before->overloaded) {
		bool waited = before->since_overload_sec < 0 || before->since_overload_sec > limits->recover_hold_sec;

		v.overloaded = !(waited && calm(now, &limits->recover));
		if (v.overloaded)
			snprintf(v.reason, sizeof v.reason, "recovering: %s",
			    waited ? "load not yet low enough" : "too soon after the overload");
	}
	if (v.overloaded)
		v.level = HEALTH_OVERLOAD;
	else if (above(now, &limits->warning, v.reason, sizeof v.reason))
		v.level = HEALTH_WARNING;
	return v;
}

const char *health_level_name(enum health_level level)
{
	static const char *const names[] = {
	    [HEALTH_NORMAL] = "normal", [HEALTH_WARNING] = "warning", [HEALTH_OVERLOAD] = "overload"};

	return names[level];
}
