/* SPDX-License-Identifier: Apache-2.0
 * What the processes of a host remember together for a moment, so that they need not ask the database again: answers
 * that are the same for many, and what they have learnt of callers. Everything is good for a stated time at most; what
 * depends on leases and budgets only while nobody on this host has changed any. Reads no clock. Nobody ever waits for
 * another process: what cannot be looked at at once is not remembered. */
#ifndef CAM_ANSWER_CACHE_H
#define CAM_ANSWER_CACHE_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ANSWER_CACHE_CALLERS = 1024,
	ANSWER_CACHE_ANSWERS = 64,
	ANSWER_CACHE_KEY_MAX = 191, /* longer ones are never remembered */
	ANSWER_CACHE_BYTES_MAX = 32 * 1024,
};

/* When something was asked: a clock_ms() time, and how many changes this host had made by then. What is remembered
 * carries the moment BEFORE the database was asked: a change that comes while it answers then ends what it said. */
struct cache_moment {
	int64_t ms;
	uint64_t changes;
};

enum caller_fact {
	CALLER_MAY_VIEW,
	CALLER_IS_SEEN,      /* noted among those who look */
	CALLER_HAS_NO_LEASE, /* good only while nothing changes */
	CALLER_FACTS
};

enum { CACHED_CODE_MAX = 31 };

struct cached_answer {
	int status, retry_after;
	enum caller_fact needs;         /* what must be known of a caller for this to be their answer */
	char code[CACHED_CODE_MAX + 1]; /* the error's; "": none */
	const char *bytes;
	size_t len;
};

struct answer_cache;

/* Maps dir/answers; who comes first finds it empty. Answers are repeated for max_ms at most. On failure
 * NULL and *e. The functions below accept NULL, which remembers nothing. */
struct answer_cache *answer_cache_open(const char *dir, int64_t max_ms, struct err *e);
void answer_cache_close(struct answer_cache *c);

/* Where there is no room, the caller who was learnt of longest ago makes it. */
void answer_cache_learn(
    struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment asked, int64_t good_ms);
bool answer_cache_knows(struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment now);

/* Keeps a copy of a->bytes, for good_ms at most. */
void answer_cache_keep(
    struct answer_cache *c, const char *key, const struct cached_answer *a, struct cache_moment asked, int64_t good_ms);
/* NULL: nothing, or nothing that is still good. Valid until the next call. */
const struct cached_answer *answer_cache_find(struct answer_cache *c, const char *key, struct cache_moment now);

#endif
