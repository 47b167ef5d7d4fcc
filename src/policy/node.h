/* SPDX-License-Identifier: Apache-2.0
 * When to leave an inference node alone, and how to come back to it. Times in milliseconds of a monotonic clock. */
#ifndef CAM_NODE_H
#define CAM_NODE_H

#include <stdbool.h>
#include <stdint.h>

enum node_fault {
	NODE_UNREACHABLE, /* nobody there: a probe must succeed before the next request */
	NODE_BUSY,        /* it said so (429, 503) */
	NODE_FAULTY,      /* it answered nonsense, an error, or too late; several in a row count */
};

struct node_state {
	unsigned failures; /* in a row, at most one counted per pause */
	bool down;         /* needs a probe */
	int64_t resume_at;
	unsigned ejections; /* lately */
	int64_t ejected_at; /* the last one */
};

/* Requests may be sent now. */
bool node_open(const struct node_state *n, int64_t now);
/* The pause is over, and a probe is what is wanted. */
bool node_wants_probe(const struct node_state *n, int64_t now);
/* retry_after_ms: what the node asked for, 0 if it did not; at most a minute is believed. */
void node_failed(struct node_state *n, enum node_fault fault, int64_t retry_after_ms, int64_t now, uint32_t random);
void node_worked(struct node_state *n);
/* For a node that others can stand in for: after five failures in a row it is left alone for 30 s times how often that
 * has happened, then a probe decides. True if it is ejected by this. Ejections more than ten minutes ago are forgotten.
 */
bool node_eject(struct node_state *n, int64_t now);
/* Another program has found it out of order for so long. */
void node_heard_out(struct node_state *n, int64_t out_ms, int64_t now);

#endif
