/* SPDX-License-Identifier: Apache-2.0
 * What a queue's load means for the next request: accept, accept after a delay, or refuse. */
#ifndef CAM_BACKPRESSURE_H
#define CAM_BACKPRESSURE_H

#include <stdint.h>

enum backpressure_stage { BACKPRESSURE_NORMAL, BACKPRESSURE_WARNING, BACKPRESSURE_OVERLOADED };

struct backpressure_limits {
	int64_t max; /* below 1 there is room for nobody */
	double warning_percent, overload_percent;
	int64_t delay_ms; /* right below the refusal */
};

struct backpressure {
	enum backpressure_stage stage;
	double load_percent;
	int64_t delay_ms; /* from 0 at warning_percent evenly up to the limits' at overload_percent */
};

/* 50 %, 80 %, 100 ms, and a max of 0. */
extern const struct backpressure_limits backpressure_default_limits;

/* queued: what waits already. */
struct backpressure backpressure_judge(const struct backpressure_limits *limits, int64_t queued);
const char *backpressure_stage_name(enum backpressure_stage stage);

#endif
