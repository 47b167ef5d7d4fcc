/* SPDX-License-Identifier: Apache-2.0
 * The permits of this process. All threads' asks and releases go through one thread and one database connection: what
 * comes while a call is under way goes with the next one, so callers that arrive together share a transaction, and
 * nobody waits holding a connection. Calls that are in stock (stock.h) begin and end without it. */
#ifndef CAM_PERMITS_H
#define CAM_PERMITS_H

#include "common/conf.h"
#include "common/dbq.h"
#include "common/ident.h"
#include "fcgi/identity.h"
#include "fcgi/stock.h"
#include "policy/backpressure.h"

#include <json-c/json.h>
#include <stdbool.h>

struct permits;

/* conf, dbq and wake, which wakes the thread that ticks, must live on. NULL: out of memory. */
struct permits *permits_new(const struct conf *conf, struct dbq *dbq, int wake);
/* From now on nobody waits any more: asks are answered with SHUTTING_DOWN. */
void permits_stop(struct permits *p);
/* Nobody asks, holds, or has anything to give back. */
bool permits_idle(struct permits *p);
/* NULL is allowed. */
void permits_free(struct permits *p);

/* For the thread that keeps them: what to do on every turn; returns when at the latest. */
int64_t permits_tick(struct permits *p, int64_t now);

/* What is asked for: a permit to call the model; or, without model, the list of models or the nodes of one. */
struct permit_ask {
	const struct identity *who;
	const char *model;
	bool nodes;    /* with the nodes that serve it */
	long wait_sec; /* at most; -1: as long as is usual */
	bool list;
	const char *nodes_of;
};

/* The answer to it, from permits_ask() to permits_end(). */
struct permit {
	struct json_object
	    *decision; /* with its "outcome"; whatever that is but GRANTED or STOCK, there is no permit */
	bool granted;
	struct permit_private {
		struct json_object *own;
		struct stock *stock;
		int64_t began_us;
		char id[UUID_TEXT_LEN + 1];
		char caller[STOCK_CALLER_MAX + 1];
	} private;
};

/* Waits until it is decided, or until the other end of client_fd hangs up; not at all where this process has calls of
 * the model in stock. event_fd is the thread's own, to wait with. */
void permits_ask(struct permits *p, const struct permit_ask *ask, int event_fd, int client_fd, struct permit *ret);
/* The call, if it was granted, is over; the answer is no longer needed. Does not wait; the database hears of it at the
 * next chance. */
void permits_end(struct permits *p, struct permit *permit);
/* How many callers of this process wait for a permit, and the limits that this is held against:
 * backpressure_default_limits with as many as there are threads, until the database has said otherwise. Those whose ask
 * is on its way count only while others wait: most are granted at once. */
int64_t permits_waiting(struct permits *p, struct backpressure_limits *ret_limits);

#endif
