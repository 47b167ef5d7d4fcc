/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/node.h"

#include "policy/backoff.h"

enum {
	FAULTY_MAX = 5,
	PAUSE_BASE_MS = 500,
	PAUSE_MAX_MS = 15000,
	RETRY_AFTER_MAX_MS = 60000,
	EJECTION_MS = 30000,
	EJECTION_FORGOTTEN_MS = 600000,
	EJECTION_TIMES_MAX = 10,
};

bool node_open(const struct node_state *n, int64_t now)
{
	return !n->down && now >= n->resume_at;
}

bool node_wants_probe(const struct node_state *n, int64_t now)
{
	return n->down && now >= n->resume_at;
}

void node_failed(struct node_state *n, enum node_fault fault, int64_t retry_after_ms, int64_t now, uint32_t random)
{
	int64_t pause;

	if (fault == NODE_UNREACHABLE)
		n->down = true;
	/* Requests that were under way together fail together: one pause. */
	if (now < n->resume_at)
		return;
	n->failures++;
	if (fault == NODE_FAULTY && n->failures < FAULTY_MAX)
		return;
	pause = backoff_ms(n->failures, PAUSE_BASE_MS, PAUSE_MAX_MS, random);
	if (retry_after_ms > 0)
		pause = retry_after_ms < RETRY_AFTER_MAX_MS ? retry_after_ms : RETRY_AFTER_MAX_MS;
	n->resume_at = now + pause;
}

void node_worked(struct node_state *n)
{
	*n = (struct node_state){.ejections = n->ejections, .ejected_at = n->ejected_at};
}

bool node_eject(struct node_state *n, int64_t now)
{
	if (n->failures < FAULTY_MAX || n->down)
		return false;
	if (now - n->ejected_at > EJECTION_FORGOTTEN_MS)
		n->ejections = 0;
	if (n->ejections < EJECTION_TIMES_MAX)
		n->ejections++;
	n->ejected_at = now;
	n->down = true;
	n->resume_at = now + (int64_t)n->ejections * EJECTION_MS;
	return true;
}

void node_heard_out(struct node_state *n, int64_t out_ms, int64_t now)
{
	n->down = true;
	if (n->resume_at < now + out_ms)
		n->resume_at = now + out_ms;
}
