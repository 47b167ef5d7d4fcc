/* SPDX-License-Identifier: Apache-2.0
 * Which of several nodes gets the next call: power of two choices on what a call there would cost - its load times its
 * latency, by its weight. Times in milliseconds of a monotonic clock. */
#ifndef CAM_BALANCE_H
#define CAM_BALANCE_H

#include <stddef.h>
#include <stdint.h>

/* A node as the choice sees it. */
struct balance {
	double weight;
	unsigned inflight;
	double latency_ms;   /* smoothed; 0: not known yet */
	int64_t sampled_at;  /* when it was last measured */
	int64_t returned_at; /* it had been away; 0: it has not */
};

/* A call took so long. */
void balance_sample(struct balance *b, double ms, int64_t now);
/* What the next call there would cost. usual_ms: what stands in for a latency that is not known. A latency that was
 * measured long ago is believed less and less, so that a node that was slow once is tried again; a node that has come
 * back is dear for ten seconds, so that it is not run over. */
double balance_cost(const struct balance *b, double usual_ms, int64_t now);
/* The cheaper of two of n candidates that random picks; n > 0. */
size_t balance_choose(const double *costs, size_t n, uint32_t random);

#endif
