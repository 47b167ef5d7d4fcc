/* SPDX-License-Identifier: Apache-2.0
 * Counters that all programs of a host add to: one small mapped file, 64-bit atomics, no lock. A crashed writer
 * leaves whole numbers behind. A file of another layout is replaced, which begins a new epoch. */
#ifndef CAM_METRICS_H
#define CAM_METRICS_H

#include "common/err.h"

#include <stdint.h>

/* One line a counter: enum suffix, name in the database and in metrics. */
#define METRICS(X) \
	X(LEASE_GRANTED, "lease_granted") \
	X(LEASE_REFUSED_OVER_CAPACITY, "lease_refused_over_capacity") \
	X(LEASE_REFUSED_SYSTEM_OVERLOAD, "lease_refused_system_overload") \
	X(LEASE_REFUSED_USER_ALREADY_HAS_MODAL, "lease_refused_user_already_has_modal") \
	X(HEARTBEAT_OK, "heartbeat_ok") \
	X(HEARTBEAT_EXPIRED, "heartbeat_expired") \
	X(LEASE_RELEASED, "release_ok") \
	X(REQUESTS, "requests") \
	X(BAD_REQUESTS, "bad_requests") \
	X(DB_UNAVAILABLE, "db_unavailable") \
	X(DB_RECONNECTS, "db_reconnects") \
	X(JOBS_CLAIMED, "jobs_claimed") \
	X(JOBS_DONE, "jobs_done") \
	X(JOBS_RETRIED, "jobs_retried") \
	X(JOBS_DEAD, "jobs_dead") \
	X(FENCED_WRITES, "fenced_writes") \
	X(NODE_REQUESTS, "node_requests") \
	X(NODE_CONNECTIONS, "node_connections") \
	X(SCHEMA_PUSHES, "schema_pushes") \
	X(ARCHIVED, "archived") \
	X(NOTIFIED, "notified") \
	X(LLM_REQUESTS, "llm_requests") \
	X(CACHE_HITS, "cache_hits") \
	X(CACHE_MISSES, "cache_misses") \
	X(NODE_EJECTIONS, "node_ejections") \
	X(NODE_RETRIES, "node_retries")

enum metric {
#define X(id, name) METRIC_##id,
	METRICS(X)
#undef X
	    METRIC_COUNT
};

enum { METRICS_EPOCH_LEN = 32 };

struct metrics;

/* Opens or makes dir/metrics. On failure NULL and *e; every function below accepts NULL and then does nothing, so
 * that a program works without its counters. */
struct metrics *metrics_open(const char *dir, struct err *e);
void metrics_close(struct metrics *m);
void metrics_add(struct metrics *m, enum metric which);
void metrics_add_n(struct metrics *m, enum metric which, uint64_t n);
uint64_t metrics_get(const struct metrics *m, enum metric which);
const char *metrics_name(enum metric which);
/* The life of this file: METRICS_EPOCH_LEN hex digits. */
const char *metrics_epoch(const struct metrics *m);

#endif
