/* SPDX-License-Identifier: Apache-2.0
 * Workers of the pools for the threads of this process: they ask here and wait, one thread speaks with the database for
 * all of them through common/pool_client.h. */
#ifndef CAM_POOLS_H
#define CAM_POOLS_H

#include "common/pool_client.h"

struct pools;

/* A worker for one call, or why there is none. */
struct pool_grant {
	struct pool_lease *lease; /* NULL: refused */
	char url[POOL_URL_MAX * 2], base_url[POOL_URL_MAX];
	long waited_ms;
	char error_code[POOL_CODE_MAX];
	char reason[POOL_REASON_MAX];
	long retry_after_sec;
};

/* wake wakes the thread that ticks. NULL: out of memory. */
struct pools *pools_new(const struct conf *conf, struct dbq *db, int wake);
/* From now on nobody waits any more: they are refused with SHUTTING_DOWN. */
void pools_stop(struct pools *p);
/* Nobody waits, nothing is held or on its way back. */
bool pools_idle(struct pools *p);
void pools_free(struct pools *p);

/* Waits for a worker, or until the other end of client_fd hangs up: then the error_code is CANCELLED. A grant with a
 * lease ends with pools_return(). event_fd is the thread's own, to wait with. */
void pools_acquire(struct pools *p, const char *pool, int event_fd, int client_fd, struct pool_grant *ret);
/* The call is over. evict: why the worker is not to be used again; NULL: it is. */
void pools_return(struct pools *p, struct pool_grant *grant, const char *evict);

/* For the thread that speaks with the database. */
struct dbq *pools_ear(struct pools *p);
int64_t pools_tick(struct pools *p, int64_t now);

#endif
