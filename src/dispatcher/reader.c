/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/reader.h"

#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct list {
	struct reader_request *head, **tail;
};

struct reader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	struct list todo, ready;
	bool stop;
	int event_fd;
};

static void list_init(struct list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static void list_add(struct list *l, struct reader_request *r)
{
	r->next = NULL;
	*l->tail = r;
	l->tail = &r->next;
}

static struct reader_request *list_take(struct list *l)
{
	struct reader_request *r = l->head;

	if (r == NULL)
		return NULL;
	l->head = r->next;
	if (l->head == NULL)
		l->tail = &l->head;
	return r;
}

static void read_one(struct reader_request *r)
{
	r->data = NULL;
	r->len = 0;
	r->fault = file_read(r->path, O_NOFOLLOW, r->max, &r->data, &r->len);
	if (r->fault == 0 && r->len == 0) {
		free(r->data);
		r->data = NULL;
		r->fault = ENODATA;
	}
}

static void *work(void *arg)
{
	struct reader *r = arg;
	struct reader_request *request;
	uint64_t one = 1;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		while (!r->stop && r->todo.head == NULL)
			pthread_cond_wait(&r->wanted, &r->lock);
		if (r->stop)
			break;
		request = list_take(&r->todo);
		pthread_mutex_unlock(&r->lock);
		read_one(request);
		pthread_mutex_lock(&r->lock);
		list_add(&r->ready, request);
		if (write(r->event_fd, &one, sizeof one) < 0)
			break; /* cannot happen: the counter does not overflow */
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct reader *reader_new(struct err *e)
{
	struct reader *r = calloc(1, sizeof *r);
	sigset_t all, before;
	int fault;

	if (r == NULL || (r->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
		err_set(e, "%s", strerror(errno));
		free(r);
		return NULL;
	}
	list_init(&r->todo);
	list_init(&r->ready);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->wanted, NULL);
	/* Signals are the loop's. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	fault = pthread_create(&r->thread, NULL, work, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (fault != 0) {
		err_set(e, "no thread: %s", strerror(fault));
		close(r->event_fd);
		free(r);
		return NULL;
	}
	return r;
}

void reader_free(struct reader *r)
{
	struct reader_request *request;

	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->wanted);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	while ((request = list_take(&r->ready)) != NULL)
		free(request->data);
	pthread_cond_destroy(&r->wanted);
	pthread_mutex_destroy(&r->lock);
	close(r->event_fd);
	free(r);
}

int reader_fd(const struct reader *r)
{
	return r->event_fd;
}

void reader_submit(struct reader *r, struct reader_request *request)
{
	pthread_mutex_lock(&r->lock);
	list_add(&r->todo, request);
	pthread_cond_signal(&r->wanted);
	pthread_mutex_unlock(&r->lock);
}

struct reader_request *reader_take(struct reader *r)
{
	struct reader_request *request;
	uint64_t count;

	pthread_mutex_lock(&r->lock);
	request = list_take(&r->ready);
	if (request == NULL && read(r->event_fd, &count, sizeof count) < 0)
		errno = 0; /* it was empty already */
	pthread_mutex_unlock(&r->lock);
	return request;
}
