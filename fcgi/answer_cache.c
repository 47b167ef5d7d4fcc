/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/answer_cache.h"

#include <stdlib.h>
#include <string.h>

struct caller {
	char name[ANSWER_CACHE_KEY_MAX + 1];
	int64_t until_ms[CALLER_FACTS]; /* 0: not known */
	uint64_t changes;               /* for CALLER_HAS_NO_LEASE */
};

struct entry {
	char key[ANSWER_CACHE_KEY_MAX + 1];
	struct cached_answer answer;
	char *bytes;
	int64_t until_ms;
	uint64_t changes;
};

struct answer_cache {
	int64_t max_ms;
	struct caller callers[ANSWER_CACHE_CALLERS];
	struct entry entries[ANSWER_CACHE_ANSWERS];
};

struct answer_cache *answer_cache_new(int64_t max_ms)
{
	struct answer_cache *c = calloc(1, sizeof *c);

	if (c != NULL)
		c->max_ms = max_ms;
	return c;
}

void answer_cache_free(struct answer_cache *c)
{
	for (size_t i = 0; c != NULL && i < ANSWER_CACHE_ANSWERS; i++)
		free(c->entries[i].bytes);
	free(c);
}

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261U;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 16777619U;
	return h;
}

void answer_cache_learn(
    struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment asked, int64_t good_ms)
{
	struct caller *at;

	if (c == NULL || *caller == '\0' || strlen(caller) > ANSWER_CACHE_KEY_MAX)
		return;
	at = &c->callers[hash(caller) % ANSWER_CACHE_CALLERS];
	if (strcmp(at->name, caller) != 0) {
		*at = (struct caller){0};
		strcpy(at->name, caller);
	}
	at->until_ms[fact] = asked.ms + good_ms;
	if (fact == CALLER_HAS_NO_LEASE)
		at->changes = asked.changes;
}

bool answer_cache_knows(
    const struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment now)
{
	const struct caller *at = c != NULL ? &c->callers[hash(caller) % ANSWER_CACHE_CALLERS] : NULL;

	return at != NULL && *caller != '\0' && strcmp(at->name, caller) == 0 && now.ms < at->until_ms[fact] &&
	       (fact != CALLER_HAS_NO_LEASE || now.changes == at->changes);
}

void answer_cache_keep(
    struct answer_cache *c, const char *key, const struct cached_answer *a, struct cache_moment asked, int64_t good_ms)
{
	struct entry *at;
	char *bytes;

	if (c == NULL || *key == '\0' || strlen(key) > ANSWER_CACHE_KEY_MAX || a->len > ANSWER_CACHE_BYTES_MAX)
		return;
	bytes = malloc(a->len + 1);
	if (bytes == NULL)
		return;
	memcpy(bytes, a->bytes, a->len);
	at = &c->entries[hash(key) % ANSWER_CACHE_ANSWERS];
	free(at->bytes);
	*at = (struct entry){.answer = *a, .bytes = bytes, .changes = asked.changes};
	at->answer.bytes = bytes;
	at->until_ms = asked.ms + (good_ms < c->max_ms ? good_ms : c->max_ms);
	strcpy(at->key, key);
}

const struct cached_answer *answer_cache_find(
    const struct answer_cache *c, const char *key, struct cache_moment now)
{
	const struct entry *at = c != NULL ? &c->entries[hash(key) % ANSWER_CACHE_ANSWERS] : NULL;

	if (at == NULL || *key == '\0' || strcmp(at->key, key) != 0 || now.ms >= at->until_ms ||
	    now.changes != at->changes)
		return NULL;
	return &at->answer;
}
