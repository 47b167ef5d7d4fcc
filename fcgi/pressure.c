/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/pressure.h"

#include "common/json.h"

#include <math.h>

int64_t pressure_read(struct json_object *load, struct backpressure_limits *limits)
{
	int64_t queued = 0;

	(void)json_get_int64(load, "max", &limits->max, NULL);
	(void)json_get_double(load, "warning_percent", &limits->warning_percent, NULL);
	(void)json_get_double(load, "overload_percent", &limits->overload_percent, NULL);
	(void)json_get_int64(load, "delay_ms", &limits->delay_ms, NULL);
	(void)json_get_int64(load, "queued", &queued, NULL);
	return queued;
}

struct sums {
	int64_t waiting, max;
};

static void visit(void *arg, const char *program, const int64_t gauges[GAUGE_COUNT])
{
	struct sums *s = arg;

	(void)program;
	s->waiting += gauges[GAUGE_GATEWAY_WAITING];
	s->max += gauges[GAUGE_GATEWAY_WAITING_MAX];
}

int64_t pressure_gateways(const struct metrics *m, struct backpressure_limits *limits)
{
	struct sums s = {0};

	metrics_processes(m, visit, &s);
	limits->max = s.max;
	return s.waiting;
}

struct json_object *pressure_json(const struct backpressure_limits *limits, int64_t queued)
{
	struct backpressure b = backpressure_judge(limits, queued);
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "stage", json_object_new_string(backpressure_stage_name(b.stage)));
	json_object_object_add(o, "load_percent", json_object_new_double(floor(b.load_percent * 10) / 10));
	json_object_object_add(o, "queued", json_object_new_int64(queued));
	json_object_object_add(o, "max", json_object_new_int64(limits->max));
	json_object_object_add(o, "delay_ms", json_object_new_int64(b.delay_ms));
	return o;
}
