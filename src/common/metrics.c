/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics.h"

#include "common/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define METRICS_MAGIC "camserver metrics 2"

enum { CELLS = 4096, KEY_MAX = 48, SLOTS = 256, SLOT_GAUGES = 13, PATH_LEN = 400 };

/* A number and its name. Whoever adds one writes the key first, under the directory's lock, then `used`. */
struct cell {
	char key[KEY_MAX];
	_Atomic uint64_t used;
	_Atomic uint64_t value;
};

/* A process. It lives for as long as it has the lock on the slot's first byte. */
struct slot {
	char program[METRICS_PROGRAM_MAX];
	_Atomic int64_t gauges[SLOT_GAUGES];
};

/* The file: a hash table of cells, and the slots. */
struct page {
	char magic[24];
	char epoch[METRICS_EPOCH_LEN + 8];
	struct cell cells[CELLS];
	struct slot slots[SLOTS];
};

_Static_assert((int)GAUGE_COUNT <= (int)SLOT_GAUGES, "a slot has room for all gauges");

enum {
	REQUEST_SERIES = ROUTE_COUNT * METRICS_STATUS_CLASSES,
	SERIES = REQUEST_SERIES + HISTOGRAM_COUNT,
	SERIES_CELLS = METRICS_BUCKETS + 2, /* and what is above, and the sum */
};

struct metrics {
	struct page *page;
	int fd;
	int slot; /* -1: none */
	_Atomic uint64_t *counters[METRIC_COUNT];
	_Atomic uint64_t *series[SERIES][SERIES_CELLS];
};

const int64_t metrics_bounds_us[METRICS_BUCKETS] = {
    1000, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000};

static const char *const keys[METRIC_COUNT] = {
#define X(id, key, name, labels, help) [METRIC_##id] = (key),
    METRICS(X)
#undef X
};

static const char *const histogram_keys[HISTOGRAM_COUNT] = {
#define X(id, key, name, labels, help) [HISTOGRAM_##id] = (key),
    METRIC_HISTOGRAMS(X)
#undef X
};

static const char *const route_keys[ROUTE_COUNT] = {
#define X(id, name) [ROUTE_##id] = (name),
    METRIC_ROUTES(X)
#undef X
};

const char *metrics_key(enum metric which)
{
	return keys[which];
}

/* --- the file; all of this with the directory's lock held, so that two programs never both make one */

static int create(const char *path, struct err *e)
{
	char tmp[PATH_LEN + METRICS_EPOCH_LEN + 2];
	struct page *page = MAP_FAILED;
	char epoch[METRICS_EPOCH_LEN + 1];
	int fd, result = -1;

	if (crypto_random_hex(METRICS_EPOCH_LEN / 2, epoch) < 0)
		return err_set(e, "no random numbers");
	snprintf(tmp, sizeof tmp, "%s.%s", path, epoch);
	fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0660);
	if (fd < 0)
		return err_set(e, "%s: %s", tmp, strerror(errno));
	errno = fchmod(fd, 0660) < 0 ? errno : posix_fallocate(fd, 0, sizeof *page);
	if (errno == 0)
		page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		strcpy(page->magic, METRICS_MAGIC);
		strcpy(page->epoch, epoch);
		munmap(page, sizeof *page);
		result = rename(tmp, path);
	}
	if (result < 0) {
		err_set(e, "%s: %s", tmp, strerror(errno));
		unlink(tmp);
	}
	close(fd);
	return result;
}

/* 1 mapped, 0 absent or not such a file, -1 error. */
static int map(const char *path, struct page **ret, int *ret_fd, struct err *e)
{
	struct stat st;
	struct page *page;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(e, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof *page) {
		close(fd);
		return 0;
	}
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		err_set(e, "%s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	if (strncmp(page->magic, METRICS_MAGIC, sizeof page->magic) != 0) {
		munmap(page, sizeof *page);
		close(fd);
		return 0;
	}
	*ret = page;
	*ret_fd = fd;
	return 1;
}

static uint32_t hash(const char *key)
{
	uint32_t h = 2166136261U;

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * 16777619U;
	return h;
}

/* The number of this key, made if it is new; NULL when the table is full. */
static _Atomic uint64_t *find(struct page *page, const char *key)
{
	uint32_t at = hash(key) % CELLS;

	for (int i = 0; i < CELLS; i++, at = (at + 1) % CELLS) {
		struct cell *c = &page->cells[at];

		if (atomic_load_explicit(&c->used, memory_order_acquire) == 0) {
			memset(c->key, 0, sizeof c->key); /* of one who died before it was used */
			snprintf(c->key, sizeof c->key, "%s", key);
			atomic_store_explicit(&c->used, 1, memory_order_release);
			return &c->value;
		}
		if (strncmp(c->key, key, sizeof c->key) == 0)
			return &c->value;
	}
	return NULL;
}

static int find_series(struct metrics *m, int series, const char *name)
{
	char key[KEY_MAX];

	for (int i = 0; i < SERIES_CELLS; i++) {
		if (snprintf(key, sizeof key, "%s:%d", name, i) >= (int)sizeof key)
			return -1;
		m->series[series][i] = find(m->page, key);
		if (m->series[series][i] == NULL)
			return -1;
	}
	return 0;
}

static int find_all(struct metrics *m, struct err *e)
{
	char name[KEY_MAX];
	bool found = true;

	for (int i = 0; i < METRIC_COUNT && found; i++) {
		m->counters[i] = find(m->page, keys[i]);
		found = m->counters[i] != NULL;
	}
	for (int i = 0; i < REQUEST_SERIES && found; i++) {
		snprintf(name, sizeof name, "request:%s:%dxx", route_keys[i / METRICS_STATUS_CLASSES],
		    i % METRICS_STATUS_CLASSES + 2);
		found = find_series(m, i, name) == 0;
	}
	for (int i = 0; i < HISTOGRAM_COUNT && found; i++)
		found = find_series(m, REQUEST_SERIES + i, histogram_keys[i]) == 0;
	return found ? 0 : err_set(e, "the file of counters is full");
}

static int open_locked(struct metrics *m, const char *path, struct err *e)
{
	int got = map(path, &m->page, &m->fd, e);

	if (got == 0 && create(path, e) == 0)
		got = map(path, &m->page, &m->fd, e);
	return got == 1 ? find_all(m, e) : -1;
}

struct metrics *metrics_open(const char *dir, struct err *e)
{
	struct metrics *m;
	char path[PATH_LEN];
	int dir_fd, opened;

	if (snprintf(path, sizeof path, "%s/metrics", dir) >= (int)sizeof path) {
		err_set(e, "%s: the path is too long", dir);
		return NULL;
	}
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || flock(dir_fd, LOCK_EX) < 0) {
		err_set(e, "%s: %s", dir, strerror(errno));
		if (dir_fd >= 0)
			close(dir_fd);
		return NULL;
	}
	m = calloc(1, sizeof *m);
	if (m != NULL) {
		m->fd = m->slot = -1;
		opened = open_locked(m, path, e);
		if (opened < 0) {
			metrics_close(m);
			m = NULL;
		}
	} else {
		err_set(e, "out of memory");
	}
	close(dir_fd);
	return m;
}

void metrics_close(struct metrics *m)
{
	if (m == NULL)
		return;
	if (m->page != NULL)
		munmap(m->page, sizeof *m->page);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

/* --- counting */

static void add(_Atomic uint64_t *at, uint64_t n)
{
	atomic_fetch_add_explicit(at, n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

void metrics_add(struct metrics *m, enum metric which)
{
	metrics_add_n(m, which, 1);
}

void metrics_add_n(struct metrics *m, enum metric which, uint64_t n)
{
	if (m != NULL)
		add(m->counters[which], n);
}

static void observe(struct metrics *m, int series, int64_t us)
{
	int bucket = 0;

	while (bucket < METRICS_BUCKETS && us > metrics_bounds_us[bucket])
		bucket++;
	add(m->series[series][bucket], 1);
	add(m->series[series][METRICS_BUCKETS + 1], us > 0 ? (uint64_t)us : 0);
}

void metrics_observe(struct metrics *m, enum metric_histogram which, int64_t us)
{
	if (m != NULL)
		observe(m, REQUEST_SERIES + (int)which, us);
}

void metrics_observe_request(struct metrics *m, enum metric_route route, int status, int64_t us)
{
	int class = status / 100 - 2;

	if (m != NULL && class >= 0 && class < METRICS_STATUS_CLASSES)
		observe(m, (int)route * METRICS_STATUS_CLASSES + class, us);
}

/* --- gauges of processes */

static struct flock slot_lock(int slot)
{
	return (struct flock){.l_type = F_WRLCK,
	    .l_whence = SEEK_SET,
	    .l_start = (off_t)(offsetof(struct page, slots) + (size_t)slot * sizeof(struct slot)),
	    .l_len = 1};
}

void metrics_join(struct metrics *m, const char *program)
{
	for (int i = 0; m != NULL && m->slot < 0 && i < SLOTS; i++) {
		struct slot *s = &m->page->slots[i];
		struct flock lock = slot_lock(i);

		if (fcntl(m->fd, F_OFD_SETLK, &lock) < 0)
			continue;
		for (int g = 0; g < SLOT_GAUGES; g++)
			atomic_store_explicit(&s->gauges[g], 0, memory_order_relaxed);
		snprintf(s->program, sizeof s->program, "%s", program);
		m->slot = i;
	}
}

void metrics_gauge_add(struct metrics *m, enum metric_gauge which, int64_t n)
{
	if (m != NULL && m->slot >= 0)
		atomic_fetch_add_explicit(&m->page->slots[m->slot].gauges[which], n, memory_order_relaxed);
}

void metrics_gauge_set(struct metrics *m, enum metric_gauge which, int64_t value)
{
	if (m != NULL && m->slot >= 0)
		atomic_store_explicit(&m->page->slots[m->slot].gauges[which], value, memory_order_relaxed);
}

/* Our own lock does not show to us. */
static bool lives(const struct metrics *m, int slot)
{
	struct flock lock = slot_lock(slot);

	return slot == m->slot || (fcntl(m->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
}

void metrics_processes(const struct metrics *m, metrics_visit *visit, void *arg)
{
	for (int i = 0; m != NULL && i < SLOTS; i++) {
		const struct slot *s = &m->page->slots[i];
		char program[METRICS_PROGRAM_MAX];
		int64_t gauges[GAUGE_COUNT];

		if (s->program[0] == '\0' || !lives(m, i))
			continue;
		memcpy(program, s->program, sizeof program);
		program[sizeof program - 1] = '\0';
		for (int g = 0; g < GAUGE_COUNT; g++)
			gauges[g] = atomic_load_explicit(&s->gauges[g], memory_order_relaxed);
		visit(arg, program, gauges);
	}
}

/* --- reading */

uint64_t metrics_get(const struct metrics *m, enum metric which)
{
	return m == NULL ? 0 : get(m->counters[which]);
}

static void read_series(const struct metrics *m, int series, struct metrics_histogram *ret)
{
	*ret = (struct metrics_histogram){0};
	if (m == NULL)
		return;
	for (int i = 0; i <= METRICS_BUCKETS; i++)
		ret->counts[i] = get(m->series[series][i]);
	ret->sum_us = get(m->series[series][METRICS_BUCKETS + 1]);
}

void metrics_read(const struct metrics *m, enum metric_histogram which, struct metrics_histogram *ret)
{
	read_series(m, REQUEST_SERIES + (int)which, ret);
}

void metrics_read_requests(
    const struct metrics *m, enum metric_route route, unsigned class, struct metrics_histogram *ret)
{
	read_series(m, (int)route * METRICS_STATUS_CLASSES + (int)class, ret);
}

const char *metrics_epoch(const struct metrics *m)
{
	return m == NULL ? "" : m->page->epoch;
}
