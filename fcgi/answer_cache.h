/* SPDX-License-Identifier: Apache-2.0
 * What one process remembers for a moment, so that it need not ask the database again: answers that are the same for
 * many, and what it has learnt of callers. Everything is good for a stated time at most; what depends on leases and
 * budgets only while nobody on this host has changed any. Does no I/O and reads no clock. */
#ifndef CAM_ANSWER_CACHE_H
#define CAM_ANSWER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ANSWER_CACHE_CALLERS = 512,
	ANSWER_CACHE_ANSWERS = 64,
	ANSWER_CACHE_KEY_MAX = 191, /* longer ones are never remembered */
	ANSWER_CACHE_BYTES_MAX = 64 * 1024,
};

/* When something was asked: the time, and how many changes this host had made by then. What is remembered carries the
 * moment BEFORE the database was asked: a change that comes while it answers then ends what it said. */
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

struct cached_answer {
	int status, retry_after;
	enum caller_fact needs; /* what must be known of a caller for this to be their answer */
	const char *code;       /* the error's, as errors.c has it; NULL: none */
	const char *bytes;
	size_t len;
};

struct answer_cache;

/* Answers are repeated for max_ms at most. NULL: out of memory. The functions below accept NULL, which remembers
 * nothing. */
struct answer_cache *answer_cache_new(int64_t max_ms);
void answer_cache_free(struct answer_cache *c);

/* Another caller whose name falls on the same place is forgotten. */
void answer_cache_learn(
    struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment asked, int64_t good_ms);
bool answer_cache_knows(
    const struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment now);

/* Keeps a copy of a->bytes, for good_ms at most. */
void answer_cache_keep(struct answer_cache *c, const char *key, const struct cached_answer *a,
    struct cache_moment asked, int64_t good_ms);
/* NULL: nothing, or nothing that is still good. Valid until the next answer_cache_keep(). */
const struct cached_answer *answer_cache_find(
    const struct answer_cache *c, const char *key, struct cache_moment now);

#endif
