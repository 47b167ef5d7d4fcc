/* SPDX-License-Identifier: Apache-2.0
 * Whether a call that failed at one node may be made again at another. */
#ifndef CAM_RETRY_H
#define CAM_RETRY_H

#include <stdbool.h>

/* How a call ended. */
enum call_end {
	CALL_WORKED,      /* an answer, also an unfriendly one that is the caller's own fault */
	CALL_UNREACHABLE, /* nobody there: nothing was sent */
	CALL_BUSY,        /* the node said that it does not take the call on (429, 503) */
	CALL_FAULTY,      /* an error of the node's, or broken off before any of the answer came */
	CALL_TIMEOUT,     /* the call's time is used up */
};

/* How many repetitions there may be in all: one for every ten calls, and a few to begin with, so that nodes that are
 * all in trouble do not get a multiple of the load on top. */
struct retry_budget {
	double left;
	bool begun;
};

/* repeatable: making the call twice does no harm, as for a question to a model. Calls that never began are always safe
 * to repeat. */
bool retry_is_safe(enum call_end end, bool repeatable);
/* A first attempt was made. */
void retry_earn(struct retry_budget *b);
/* Takes one repetition out of the budget, if there is one. */
bool retry_spend(struct retry_budget *b);

#endif
