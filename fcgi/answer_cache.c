/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/answer_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "camserver answers 1"

/* A name or key may stand in any of the WAYS places of its row. */
enum { WAYS = 8, MAGIC_MAX = 32, PATH_LEN = 400, PATIENCE_MS = 2 };

struct place {
	char key[ANSWER_CACHE_KEY_MAX + 1];
	struct cache_moment asked;
};

struct caller {
	struct place place;
	int64_t until_ms[CALLER_FACTS]; /* 0: not known */
};

struct entry {
	struct place place;
	int64_t until_ms;
	struct cached_answer answer; /* its bytes follow */
	char bytes[ANSWER_CACHE_BYTES_MAX];
};

/* The file. */
struct page {
	char magic[MAGIC_MAX];
	pthread_mutex_t lock; /* robust: who dies with it leaves nothing to trust */
	struct caller callers[ANSWER_CACHE_CALLERS];
	struct entry entries[ANSWER_CACHE_ANSWERS];
};

struct answer_cache {
	struct page *page;
	int fd;
	int64_t max_ms;
	struct cached_answer found;
	char found_bytes[ANSWER_CACHE_BYTES_MAX];
};

_Static_assert(ANSWER_CACHE_CALLERS % WAYS == 0 && ANSWER_CACHE_ANSWERS % WAYS == 0, "rows are full");

/* --- the file; all of this with the directory's lock held */

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int fault;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	fault = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return fault;
}

static struct page *map(int fd)
{
	struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return page != MAP_FAILED ? page : NULL;
}

/* Nobody else has the file: what stands in it may be of another boot, whose clock was another. */
static struct page *begin_anew(int fd)
{
	struct page *page;

	if (ftruncate(fd, 0) < 0 || ftruncate(fd, sizeof *page) < 0)
		return NULL;
	page = map(fd);
	if (page != NULL && init_lock(&page->lock) != 0) {
		munmap(page, sizeof *page);
		return NULL;
	}
	if (page != NULL)
		strcpy(page->magic, MAGIC);
	return page;
}

/* NULL also for a file of another version's programs. */
static struct page *join_others(int fd)
{
	struct page *page;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof *page)
		return NULL;
	page = map(fd);
	if (page != NULL && strncmp(page->magic, MAGIC, MAGIC_MAX) != 0) {
		munmap(page, sizeof *page);
		page = NULL;
	}
	return page;
}

/* Who has the file keeps a shared lock on it. */
static struct page *open_file(const char *path, int *ret_fd)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct page *page = NULL;

	if (fd < 0)
		return NULL;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		page = begin_anew(fd);
	else
		page = join_others(fd);
	if (page == NULL || flock(fd, LOCK_SH) < 0) {
		if (page != NULL)
			munmap(page, sizeof *page);
		close(fd);
		return NULL;
	}
	*ret_fd = fd;
	return page;
}

struct answer_cache *answer_cache_open(const char *dir, int64_t max_ms, struct err *e)
{
	struct answer_cache *c = NULL;
	struct page *page = NULL;
	char path[PATH_LEN];
	int dir_fd, fd = -1;

	if (snprintf(path, sizeof path, "%s/answers", dir) >= (int)sizeof path) {
		err_set(e, "%s: the path is too long", dir);
		return NULL;
	}
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd >= 0 && flock(dir_fd, LOCK_EX) == 0) {
		page = open_file(path, &fd);
		/* Another version's programs go on with theirs. */
		if (page == NULL && unlink(path) == 0)
			page = open_file(path, &fd);
	}
	if (page != NULL)
		c = calloc(1, sizeof *c);
	if (c != NULL)
		*c = (struct answer_cache){.page = page, .fd = fd, .max_ms = max_ms};
	else
		err_set(e, "%s: %s", path, strerror(errno));
	if (dir_fd >= 0)
		close(dir_fd);
	return c;
}

void answer_cache_close(struct answer_cache *c)
{
	if (c == NULL)
		return;
	munmap(c->page, sizeof *c->page);
	close(c->fd);
	free(c);
}

/* --- looking, always under the lock */

static bool lock(struct answer_cache *c)
{
	struct timespec until;
	int fault;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PATIENCE_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	fault = pthread_mutex_timedlock(&c->page->lock, &until);
	if (fault == EOWNERDEAD) {
		memset(c->page->callers, 0, sizeof c->page->callers);
		memset(c->page->entries, 0, sizeof c->page->entries);
		fault = pthread_mutex_consistent(&c->page->lock);
	}
	return fault == 0;
}

static void unlock(struct answer_cache *c)
{
	pthread_mutex_unlock(&c->page->lock);
}

static bool is_key(const char *key)
{
	return *key != '\0' && strlen(key) <= ANSWER_CACHE_KEY_MAX;
}

static size_t row_of(const char *key, size_t places)
{
	uint32_t h = 2166136261U;

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * 16777619U;
	return h % (places / WAYS) * WAYS;
}

/* The index of the key in a table of places that are size bytes apart; where it is not, of the one to put it into. */
static size_t place_of(const void *table, size_t places, size_t size, const char *key, bool *ret_found)
{
	size_t row = row_of(key, places), oldest = row;

	for (size_t i = row; i < row + WAYS; i++) {
		const struct place *at = (const struct place *)((const char *)table + i * size);
		const struct place *old = (const struct place *)((const char *)table + oldest * size);

		*ret_found = strcmp(at->key, key) == 0;
		if (*ret_found)
			return i;
		if (at->asked.ms < old->asked.ms)
			oldest = i;
	}
	return oldest;
}

static struct caller *caller_of(struct answer_cache *c, const char *name, bool *ret_found)
{
	struct caller *callers = c->page->callers;

	return &callers[place_of(callers, ANSWER_CACHE_CALLERS, sizeof *callers, name, ret_found)];
}

static struct entry *entry_of(struct answer_cache *c, const char *key, bool *ret_found)
{
	struct entry *entries = c->page->entries;

	return &entries[place_of(entries, ANSWER_CACHE_ANSWERS, sizeof *entries, key, ret_found)];
}

/* --- */

void answer_cache_learn(
    struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment asked, int64_t good_ms)
{
	struct caller *at;
	bool found;

	if (c == NULL || !is_key(caller) || !lock(c))
		return;
	at = caller_of(c, caller, &found);
	/* What hangs on the changes is of one moment with them. */
	if (!found || asked.changes != at->place.asked.changes)
		at->until_ms[CALLER_HAS_NO_LEASE] = 0;
	if (!found) {
		*at = (struct caller){0};
		strcpy(at->place.key, caller);
	}
	at->place.asked = asked;
	at->until_ms[fact] = asked.ms + good_ms;
	unlock(c);
}

bool answer_cache_knows(struct answer_cache *c, const char *caller, enum caller_fact fact, struct cache_moment now)
{
	const struct caller *at;
	bool found, known;

	if (c == NULL || !is_key(caller) || !lock(c))
		return false;
	at = caller_of(c, caller, &found);
	known = found && now.ms < at->until_ms[fact] &&
		(fact != CALLER_HAS_NO_LEASE || now.changes == at->place.asked.changes);
	unlock(c);
	return known;
}

void answer_cache_keep(
    struct answer_cache *c, const char *key, const struct cached_answer *a, struct cache_moment asked, int64_t good_ms)
{
	struct entry *at;
	bool found;

	if (c == NULL || !is_key(key) || a->len > ANSWER_CACHE_BYTES_MAX || !lock(c))
		return;
	at = entry_of(c, key, &found);
	strcpy(at->place.key, key);
	at->place.asked = asked;
	at->until_ms = asked.ms + (good_ms < c->max_ms ? good_ms : c->max_ms);
	at->answer = *a;
	memcpy(at->bytes, a->bytes, a->len);
	unlock(c);
}

const struct cached_answer *answer_cache_find(struct answer_cache *c, const char *key, struct cache_moment now)
{
	const struct entry *at;
	bool found;

	if (c == NULL || !is_key(key) || !lock(c))
		return NULL;
	at = entry_of(c, key, &found);
	found = found && now.ms < at->until_ms && now.changes == at->place.asked.changes;
	if (found) {
		c->found = at->answer;
		memcpy(c->found_bytes, at->bytes, at->answer.len);
		c->found.bytes = c->found_bytes;
	}
	unlock(c);
	return found ? &c->found : NULL;
}
