/* SPDX-License-Identifier: Apache-2.0
 * Backpressure as the programs apply it: limits as the database tells them, the gateways' waiters of this host. */
#ifndef CAM_PRESSURE_H
#define CAM_PRESSURE_H

#include "common/metrics.h"
#include "policy/backpressure.h"

#include <json-c/json.h>

/* Reads what queue_load() says: max, warning_percent, overload_percent, delay_ms; what is not there stays. Returns
 * "queued", 0 without one. */
int64_t pressure_read(struct json_object *load, struct backpressure_limits *limits);
/* All that the gateways of this host have waiting, and the most that they may have, put into limits->max. */
int64_t pressure_gateways(const struct metrics *m, struct backpressure_limits *limits);
/* {"stage", "load_percent", "queued", "max", "delay_ms"} */
struct json_object *pressure_json(const struct backpressure_limits *limits, int64_t queued);

#endif
