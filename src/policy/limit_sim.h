/* SPDX-License-Identifier: Apache-2.0
 * What limits would have done to calls that were really made: a token bucket and a number of places per limit, served
 * in the order of arrival, waiting bounded. Pure. */
#ifndef CAM_LIMIT_SIM_H
#define CAM_LIMIT_SIM_H

#include <stdint.h>

enum { LIMIT_SIM_LEVELS = 3 };

struct limit_sim; /* one bucket */

/* Full at the time 0. NULL: out of memory. limit_sim_free() accepts NULL. */
struct limit_sim *limit_sim_new(int64_t requests, int64_t window_us, int64_t concurrent);
void limit_sim_free(struct limit_sim *s);
/* A call at this time that would run this long, drawing from n buckets; calls must come in the order of their times.
 * Returns when it is let through, or -1 if that is not within wait_us: then nothing is charged. */
int64_t limit_sim_call(struct limit_sim *const *buckets, int n, int64_t at_us, int64_t run_us, int64_t wait_us);

#endif
