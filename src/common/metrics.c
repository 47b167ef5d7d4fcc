/* SPDX-License-Identifier: Apache-2.0 */
#include "common/metrics.h"

#include "common/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define METRICS_MAGIC "camserver metrics 1"

/* The file. Its size tells the layout: another count of metrics is another file. */
struct page {
	char magic[24];
	char epoch[METRICS_EPOCH_LEN + 8];
	_Atomic uint64_t values[METRIC_COUNT];
};

struct metrics {
	struct page *page;
};

static const char *const names[METRIC_COUNT] = {
#define X(id, name) [METRIC_##id] = (name),
    METRICS(X)
#undef X
};

const char *metrics_name(enum metric which)
{
	return names[which];
}

/* Makes a whole new file beside and renames it into place, so that nobody ever maps half of one. With
 * replace false an existing file wins. */
static int create(const char *path, int replace, struct err *e)
{
	struct page page = {.magic = METRICS_MAGIC};
	char tmp[512];
	int fd, result = -1;

	if (crypto_random_hex(METRICS_EPOCH_LEN / 2, page.epoch) < 0)
		return err_set(e, "no random numbers");
	if (snprintf(tmp, sizeof tmp, "%s.%s", path, page.epoch) >= (int)sizeof tmp)
		return err_set(e, "%s: the path is too long", path);
	fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0660);
	if (fd < 0)
		return err_set(e, "%s: %s", tmp, strerror(errno));
	if (fchmod(fd, 0660) < 0 || write(fd, &page, sizeof page) != (ssize_t)sizeof page)
		err_set(e, "%s: %s", tmp, strerror(errno));
	else if (replace ? rename(tmp, path) == 0 : link(tmp, path) == 0 || errno == EEXIST)
		result = 0;
	else
		err_set(e, "%s: %s", path, strerror(errno));
	close(fd);
	unlink(tmp);
	return result;
}

/* 1 mapped, 0 absent or of another layout, -1 error. */
static int map(const char *path, struct page **ret, int *ret_stale, struct err *e)
{
	struct stat st;
	struct page *page;
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	*ret_stale = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(e, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof *page) {
		close(fd);
		*ret_stale = 1;
		return 0;
	}
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return err_set(e, "%s: %s", path, strerror(errno));
	if (strncmp(page->magic, METRICS_MAGIC, sizeof page->magic) != 0) {
		munmap(page, sizeof *page);
		*ret_stale = 1;
		return 0;
	}
	*ret = page;
	return 1;
}

struct metrics *metrics_open(const char *dir, struct err *e)
{
	struct metrics *m = NULL;
	struct page *page = NULL;
	char path[400];
	int stale, got = 0;

	if (snprintf(path, sizeof path, "%s/metrics", dir) >= (int)sizeof path) {
		err_set(e, "%s: the path is too long", dir);
		return NULL;
	}
	for (int tries = 0; tries < 3 && got == 0; tries++) {
		got = map(path, &page, &stale, e);
		if (got == 0 && create(path, stale, e) < 0)
			return NULL;
	}
	if (got != 1)
		return NULL;
	m = malloc(sizeof *m);
	if (m == NULL) {
		munmap(page, sizeof *page);
		err_set(e, "out of memory");
		return NULL;
	}
	m->page = page;
	return m;
}

void metrics_close(struct metrics *m)
{
	if (m == NULL)
		return;
	munmap(m->page, sizeof *m->page);
	free(m);
}

void metrics_add(struct metrics *m, enum metric which)
{
	metrics_add_n(m, which, 1);
}

void metrics_add_n(struct metrics *m, enum metric which, uint64_t n)
{
	if (m != NULL)
		atomic_fetch_add_explicit(&m->page->values[which], n, memory_order_relaxed);
}

uint64_t metrics_get(const struct metrics *m, enum metric which)
{
	return m == NULL ? 0 : atomic_load_explicit(&m->page->values[which], memory_order_relaxed);
}

const char *metrics_epoch(const struct metrics *m)
{
	return m == NULL ? "" : m->page->epoch;
}
