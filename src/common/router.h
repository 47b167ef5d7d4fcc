/* SPDX-License-Identifier: Apache-2.0
 * Which node gets a model call. Candidates come from the database and are kept for five seconds; the choice among them
 * is made for each call from what this process sees of them: load, latency, failures. No I/O: router_client.h probes,
 * reports and listens. Any thread may call anything here. */
#ifndef CAM_ROUTER_H
#define CAM_ROUTER_H

#include "common/ident.h"
#include "common/metrics.h"
#include "policy/retry.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct router;
struct router_node;

enum { ROUTER_URL_MAX = 400, ROUTER_HEALTH_MAX = 200, ROUTER_TRIED_MAX = 8, ROUTER_REASON_MAX = 400 };

enum route_found {
	ROUTE_OK,
	ROUTE_UNKNOWN, /* no candidates are known, or they are too old: fetch and router_fill() them */
	ROUTE_NONE,    /* nodes do not serve this model */
	ROUTE_FULL,    /* they are there, and all have as much as they take */
	ROUTE_DOWN,    /* nobody is there, or all that are have been tried */
};

/* Where a call goes, from router_choose() to router_end(). Begin with all zero for each call and keep it for its
 * repetitions: it remembers which nodes have been tried. */
struct route_pick {
	struct router_node *node; /* NULL: none at present */
	char name[IDENT_MAX + 1];
	char base_url[ROUTER_URL_MAX + 1];
	bool http2;
	int64_t since;
	long retry_after_ms; /* ROUTE_FULL, ROUTE_DOWN: when it may be worth asking again */
	const struct router_node *tried[ROUTER_TRIED_MAX];
	size_t n_tried;
};

/* patient: calls are jobs that can wait, so the only node of a model is given pauses when it fails; otherwise callers
 * are told what it says. metrics may be NULL. NULL: out of memory. */
struct router *router_new(bool patient, struct metrics *metrics);
void router_free(struct router *r);

/* Whether the candidates of a model are known and fresh; counted as hit or miss of the cache. */
bool router_knows(struct router *r, const char *model, int64_t now);
/* What node_candidates() said. Nodes that other programs have found out of order are left alone, unless they are all
 * that is left. */
void router_fill(struct router *r, const char *model, struct json_object *candidates, int64_t now);
/* The nodes may have changed: all candidates are to be fetched anew. */
void router_invalidate(struct router *r);

/* What a call would meet now, without one being made. ret_retry_after_ms as in route_pick. */
enum route_found router_look(struct router *r, const char *model, long *ret_retry_after_ms, int64_t now);
/* ROUTE_OK: *pick says where, and router_end() must follow. Nodes that this pick has tried are passed over. */
enum route_found router_choose(struct router *r, const char *model, struct route_pick *pick, int64_t now);
/* The call has ended; with a reason unless it worked. retry_after_ms: what the node asked for, or 0. */
void router_end(struct router *r, const char *model, struct route_pick *pick, enum call_end end, long retry_after_ms,
    const char *reason, int64_t now);
/* The call was not made after all, or its caller broke it off: nothing was learned. */
void router_drop(struct router *r, struct route_pick *pick);
/* Whether the call that ended so may be made again at another node: it is safe, and within the budget. */
bool router_may_retry(struct router *r, enum call_end end, bool repeatable);
/* Waits until a call has ended somewhere, for a thread that found ROUTE_FULL; at most so long. */
void router_wait(struct router *r, long ms);

/* A node that has been away long enough is asked how it is: its whole health address. NULL: none is due. Each ends with
 * router_probed(). */
struct router_node *router_probe(struct router *r, char *ret_url, size_t size, bool *ret_http2, int64_t now);
void router_probed(struct router *r, struct router_node *n, bool healthy, const char *reason, int64_t now);
/* When the next probe is due; INT64_MAX: none. */
int64_t router_probe_at(struct router *r);

/* What node_report() takes: nodes that have just gone or come back, which others wait to hear; with all true every
 * node. NULL: there is nothing to say. The caller puts it back. */
struct json_object *router_news(struct router *r, bool all, int64_t now);

#endif
