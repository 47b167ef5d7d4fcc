/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/balance.h"

static const double smoothing = 0.2;       /* the share of the newest sample */
static const double old_ms = 10000;        /* from here on a latency is believed less */
static const double slow_start_ms = 10000; /* until a node that came back is as good as any */
static const double slow_start_least = 0.1;
static const double latency_least_ms = 0.1;

void balance_sample(struct balance *b, double ms, int64_t now)
{
	if (ms < latency_least_ms)
		ms = latency_least_ms;
	b->latency_ms = b->latency_ms > 0 ? b->latency_ms + smoothing * (ms - b->latency_ms) : ms;
	b->sampled_at = now;
}

static double believed_latency(const struct balance *b, double usual_ms, int64_t now)
{
	double age = (double)(now - b->sampled_at);

	if (b->latency_ms <= 0)
		return usual_ms > latency_least_ms ? usual_ms : latency_least_ms;
	return age > old_ms ? b->latency_ms * old_ms / age : b->latency_ms;
}

static double ramp(const struct balance *b, int64_t now)
{
	double share = (double)(now - b->returned_at) / slow_start_ms;

	if (b->returned_at == 0 || share >= 1)
		return 1;
	return share > slow_start_least ? share : slow_start_least;
}

double balance_cost(const struct balance *b, double usual_ms, int64_t now)
{
	return ((double)b->inflight + 1) * believed_latency(b, usual_ms, now) / (b->weight * ramp(b, now));
}

size_t balance_choose(const double *costs, size_t n, uint32_t random)
{
	size_t a = random % n, b;

	if (n == 1)
		return 0;
	b = (a + 1 + (random / n) % (n - 1)) % n;
	return costs[b] < costs[a] ? b : a;
}
