/* SPDX-License-Identifier: Apache-2.0
 * The overload valve: when a host is too busy to admit another stream, and when it is well again. */
#ifndef CAM_HEALTH_H
#define CAM_HEALTH_H

#include <stdbool.h>
#include <stddef.h>

struct health_sample {
	double cpu_percent;
	double memory_percent;
	double swap_mb;
};

struct health_limits {
	struct health_sample overload; /* above any of these trips the valve */
	struct health_sample recover;  /* the valve opens again only below all of these ... */
	double recover_hold_sec;       /* ... and this long after the last trip */
	struct health_sample warning;  /* above any of these is a warning */
};

enum health_level { HEALTH_NORMAL, HEALTH_WARNING, HEALTH_OVERLOAD };

struct health_state {
	bool overloaded;
	double since_overload_sec; /* since the last sample that tripped; negative: never */
};

struct health_verdict {
	bool overloaded;
	bool tripped; /* this very sample was above a limit */
	enum health_level level;
	char reason[128]; /* which measure and why; empty when normal */
};

/* 85 / 90 / 100, back at 60 / 70 / 50 after 60 s, warning at 70 / 75 / 50. */
extern const struct health_limits health_default_limits;

struct health_verdict health_judge(
    const struct health_state *before, const struct health_sample *now, const struct health_limits *limits);
const char *health_level_name(enum health_level level);

#endif
