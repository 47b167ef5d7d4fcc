/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/tasks.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { THREADS = 2, CACHED_MAX = 256 * 1024 };

struct list {
	struct task *head, **tail;
};

struct tasks {
	pthread_t threads[THREADS];
	size_t n_threads;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	struct list todo, ended;
	bool stop;
	int event_fd;
};

static void list_init(struct list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static void list_add(struct list *l, struct task *t)
{
	t->next = NULL;
	*l->tail = t;
	l->tail = &t->next;
}

static struct task *list_take(struct list *l)
{
	struct task *t = l->head;

	if (t == NULL)
		return NULL;
	l->head = t->next;
	if (l->head == NULL)
		l->tail = &l->head;
	return t;
}

/* The loop is woken for the first; the others it finds with it. */
static void tell_ended(struct tasks *t, struct task *task)
{
	uint64_t one = 1;
	bool first;

	pthread_mutex_lock(&t->lock);
	first = t->ended.head == NULL;
	list_add(&t->ended, task);
	pthread_mutex_unlock(&t->lock);
	if (first && write(t->event_fd, &one, sizeof one) < 0)
		return; /* cannot happen: the counter does not overflow */
}

static void *work(void *arg)
{
	struct tasks *t = arg;
	struct task *task;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->stop && t->todo.head == NULL)
			pthread_cond_wait(&t->wanted, &t->lock);
		if (t->stop)
			break;
		task = list_take(&t->todo);
		pthread_mutex_unlock(&t->lock);
		task->run(task);
		tell_ended(t, task);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Signals are the loop's. */
static int start_threads(struct tasks *t)
{
	sigset_t all, before;
	int fault = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (t->n_threads < THREADS && fault == 0) {
		fault = pthread_create(&t->threads[t->n_threads], NULL, work, t);
		if (fault == 0)
			t->n_threads++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return fault;
}

struct tasks *tasks_new(struct err *e)
{
	struct tasks *t = calloc(1, sizeof *t);
	int fault;

	if (t == NULL || (t->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
		err_set(e, "%s", strerror(errno));
		free(t);
		return NULL;
	}
	list_init(&t->todo);
	list_init(&t->ended);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wanted, NULL);
	fault = start_threads(t);
	if (fault != 0) {
		err_set(e, "no thread: %s", strerror(fault));
		tasks_free(t);
		return NULL;
	}
	return t;
}

void tasks_free(struct tasks *t)
{
	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->wanted);
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < t->n_threads; i++)
		pthread_join(t->threads[i], NULL);
	pthread_cond_destroy(&t->wanted);
	pthread_mutex_destroy(&t->lock);
	close(t->event_fd);
	free(t);
}

int tasks_fd(const struct tasks *t)
{
	return t->event_fd;
}

void tasks_submit(struct tasks *t, struct task *task)
{
	pthread_mutex_lock(&t->lock);
	list_add(&t->todo, task);
	pthread_cond_signal(&t->wanted);
	pthread_mutex_unlock(&t->lock);
}

void tasks_finish(struct tasks *t)
{
	struct task *task;
	uint64_t count;

	if (read(t->event_fd, &count, sizeof count) < 0)
		errno = 0; /* it was empty already */
	for (;;) {
		pthread_mutex_lock(&t->lock);
		task = list_take(&t->ended);
		pthread_mutex_unlock(&t->lock);
		if (task == NULL)
			return;
		task->done(task);
	}
}

static void read_picture(struct task *task)
{
	struct picture *p = (struct picture *)((char *)task - offsetof(struct picture, task));

	p->fault = file_read(p->path, O_NOFOLLOW, p->max, &p->data, &p->len);
	if (p->fault == ENOENT && p->other_path != NULL)
		p->fault = file_read(p->other_path, O_NOFOLLOW, p->max, &p->data, &p->len);
	if (p->fault == 0 && p->len == 0) {
		free(p->data);
		p->data = NULL;
		p->fault = ENODATA;
	}
}

/* Opens without waiting for a disk: what is not in the kernel's memory is not opened. -1 for any reason. */
static int open_cached(const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, .resolve = RESOLVE_CACHED};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Reads a small image that is in memory already, as it is when it has just come in: far sooner than a thread would.
 * False: it takes a thread. */
static bool read_cached(struct picture *p)
{
	int fd = open_cached(p->path);
	struct stat st;
	struct iovec to;
	bool whole = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= CACHED_MAX &&
	    (p->data = malloc((size_t)st.st_size + 1)) != NULL) {
		to = (struct iovec){.iov_base = p->data, .iov_len = (size_t)st.st_size};
		whole = preadv2(fd, &to, 1, 0, RWF_NOWAIT) == (ssize_t)st.st_size;
	}
	close(fd);
	if (!whole) {
		free(p->data);
		p->data = NULL;
		return false;
	}
	p->len = (size_t)st.st_size;
	p->data[p->len] = '\0';
	return true;
}

void picture_read(struct tasks *t, struct picture *p, void (*done)(struct task *))
{
	p->task = (struct task){.run = read_picture, .done = done};
	p->data = NULL;
	p->len = 0;
	if (read_cached(p))
		tell_ended(t, &p->task);
	else
		tasks_submit(t, &p->task);
}
