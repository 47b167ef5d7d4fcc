/* SPDX-License-Identifier: Apache-2.0
 * Workers of the pools for a program that lives in a loop: acquire with a bounded wait, heartbeat of what is held, and
 * release or evict, told to the database until it has heard. Nothing here blocks. */
#ifndef CAM_POOL_CLIENT_H
#define CAM_POOL_CLIENT_H

#include "common/conf.h"
#include "common/dbq.h"
#include "common/ident.h"

struct pool_client;
struct pool_wait;
struct pool_lease;

enum { POOL_URL_MAX = 512, POOL_CODE_MAX = 32, POOL_REASON_MAX = 1024 };

/* What an acquire comes to. Valid during the call of pool_done only, except lease. */
struct pool_answer {
	struct pool_lease *lease; /* NULL: refused. To be given to pool_release() or pool_evict(), whatever happens */
	const char *url;          /* of the call: the worker's address and the pool's call path */
	const char *base_url;     /* without the path */
	bool cold;                /* started for this call */
	long waited_ms;
	/* of a refusal: POOL_TIMEOUT, POOL_DISABLED, POOL_FAILING, NO_MANAGER, QUEUE_FULL, UNKNOWN_POOL, DB_UNAVAILABLE
	 */
	const char *error_code;
	const char *reason;
	long retry_after_sec;
};

/* Called once for every pool_acquire() that is not cancelled, never from within pool_acquire(). */
typedef void pool_done(void *arg, const struct pool_answer *answer);

/* db is the program's and must live on; name says who holds, in lists. A connection of its own hears of grants.
 * NULL: out of memory. */
struct pool_client *pool_client_new(const struct conf *conf, struct dbq *db, const char *name);
/* Waits are cancelled; what is held is left to the database, which retires it. */
void pool_client_free(struct pool_client *c);

/* NULL: out of memory; then done is not called. */
struct pool_wait *pool_acquire(struct pool_client *c, const char *pool, pool_done *done, void *arg);
/* The caller is gone. A worker that was granted meanwhile goes to the next. Not after done was called. */
void pool_cancel(struct pool_wait *w);
/* The call went well. The lease is gone. */
void pool_release(struct pool_lease *l);
/* The call failed, timed out or was broken off: the worker is not used again. The lease is gone. */
void pool_evict(struct pool_lease *l, const char *reason);

/* For the loop: the connection to wait for as well, and what to do on every turn; returns when at the latest. */
struct dbq *pool_client_ear(struct pool_client *c);
int64_t pool_client_tick(struct pool_client *c, int64_t now);
/* Nobody waits, nothing is held or on its way back. */
bool pool_client_idle(const struct pool_client *c);

#endif
