/* SPDX-License-Identifier: Apache-2.0
 * The permits of this process. All threads' asks and releases go through one thread and one database connection: what
 * comes while a call is under way goes with the next one, so callers that arrive together share a transaction, and
 * nobody waits holding a connection. */
#ifndef CAM_PERMITS_H
#define CAM_PERMITS_H

#include "common/conf.h"
#include "common/dbq.h"
#include "common/ident.h"
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

/* Asks for a permit as permit_exchange() takes it - ask gets its "id" here, and becomes this function's - and waits
 * until that is decided, or until the other end of client_fd hangs up. Returns the answer, with its "outcome", which
 * the caller puts back. Whatever it is but GRANTED, there is no permit. event_fd is the thread's own, to wait with. */
struct json_object *permits_ask(
    struct permits *p, struct json_object *ask, int event_fd, int client_fd, char ret_id[UUID_TEXT_LEN + 1]);
/* How many callers of this process wait for a permit, and the limits that this is held against:
 * backpressure_default_limits with as many as there are threads, until the database has said otherwise. Those whose ask
 * is on its way count only while others wait: most are granted at once. */
int64_t permits_waiting(struct permits *p, struct backpressure_limits *ret_limits);
/* The call with this permit is over. Does not wait; the database hears of it at the next chance. */
void permits_release(struct permits *p, const char *id);

#endif
