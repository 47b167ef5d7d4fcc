/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/limit_sim.h"

#include <stdlib.h>
#include <string.h>

struct limit_sim {
	int64_t requests, window_us, concurrent;
	int64_t tokens, remainder; /* the latter in 1/window_us token */
	int64_t refilled_at;       /* also the time of the last grant: nobody is served before who came earlier */
	int64_t *ends;             /* of the calls that run, ascending */
	int64_t running;
};

struct limit_sim *limit_sim_new(int64_t requests, int64_t window_us, int64_t concurrent)
{
	struct limit_sim *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	*s = (struct limit_sim){
	    .requests = requests, .window_us = window_us, .concurrent = concurrent, .tokens = requests};
	s->ends = calloc((size_t)concurrent, sizeof *s->ends);
	if (s->ends == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

void limit_sim_free(struct limit_sim *s)
{
	if (s != NULL)
		free(s->ends);
	free(s);
}

static void refill(struct limit_sim *s, int64_t at)
{
	int64_t elapsed = at - s->refilled_at < s->window_us ? at - s->refilled_at : s->window_us, credit;

	if (elapsed <= 0)
		return;
	credit = s->remainder + elapsed * s->requests;
	s->tokens += credit / s->window_us;
	s->remainder = credit % s->window_us;
	s->refilled_at = at;
	if (s->tokens >= s->requests) {
		s->tokens = s->requests;
		s->remainder = 0;
	}
}

/* When this bucket lets one through that comes at this time. */
static int64_t free_at(const struct limit_sim *s, int64_t at)
{
	int64_t first = at > s->refilled_at ? at : s->refilled_at;
	struct limit_sim then = *s;

	if (s->running == s->concurrent && s->ends[0] > first)
		first = s->ends[0];
	refill(&then, first);
	if (then.tokens < 1)
		first += (s->window_us - then.remainder + s->requests - 1) / s->requests;
	return first;
}

static void take(struct limit_sim *s, int64_t at, int64_t end)
{
	int64_t done = 0, i;

	refill(s, at);
	s->tokens--;
	while (done < s->running && s->ends[done] <= at)
		done++;
	memmove(s->ends, s->ends + done, (size_t)(s->running - done) * sizeof *s->ends);
	s->running -= done;
	for (i = s->running++; i > 0 && s->ends[i - 1] > end; i--)
		s->ends[i] = s->ends[i - 1];
	s->ends[i] = end;
}

int64_t limit_sim_call(struct limit_sim *const *buckets, int n, int64_t at_us, int64_t run_us, int64_t wait_us)
{
	int64_t at = at_us, before;

	do { /* each bucket may move it on, until all agree */
		before = at;
		for (int i = 0; i < n; i++)
			at = free_at(buckets[i], at);
	} while (at != before);
	if (at - at_us > wait_us)
		return -1;
	for (int i = 0; i < n; i++)
		take(buckets[i], at, at + run_us);
	return at;
}
