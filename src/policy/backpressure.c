/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/backpressure.h"

const struct backpressure_limits backpressure_default_limits = {
    .warning_percent = 50, .overload_percent = 80, .delay_ms = 100};

struct backpressure backpressure_judge(const struct backpressure_limits *limits, int64_t queued)
{
	struct backpressure b = {BACKPRESSURE_OVERLOADED, 100, 0};
	double width = limits->overload_percent - limits->warning_percent;

	if (limits->max < 1)
		return b;
	b.load_percent = (double)(queued > 0 ? queued : 0) * 100 / (double)limits->max;
	if (b.load_percent >= limits->overload_percent)
		return b;
	if (b.load_percent < limits->warning_percent) {
		b.stage = BACKPRESSURE_NORMAL;
		return b;
	}
	b.stage = BACKPRESSURE_WARNING; /* width is above 0, since the load is between the two */
	b.delay_ms = (int64_t)((b.load_percent - limits->warning_percent) / width * (double)limits->delay_ms);
	return b;
}

const char *backpressure_stage_name(enum backpressure_stage stage)
{
	static const char *const names[] = {"normal", "warning", "overloaded"};

	return names[stage];
}
