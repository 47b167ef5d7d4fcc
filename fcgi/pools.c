/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/pools.h"

#include "fcgi/wakeup.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread that waits for a worker; it lives on that thread's stack. */
struct ask {
	struct ask *next;
	struct pools *pools;
	const char *pool;
	struct pool_wait *wait; /* NULL: to be asked, or answered */
	struct pool_grant *grant;
	int event_fd;
	bool answered, gone;
};

struct returned {
	struct returned *next;
	struct pool_lease *lease;
	bool evict;
	char reason[POOL_REASON_MAX];
};

struct pools {
	struct pool_client *client; /* of the thread that ticks */
	int wake;
	pthread_mutex_t lock;
	struct ask *asks;
	struct returned *returned;
	bool stopping;
	_Atomic bool quiet; /* the client has nothing under way */
};

struct pools *pools_new(const struct conf *conf, struct dbq *db, int wake)
{
	struct pools *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->client = pool_client_new(conf, db, "gateway.fcgi");
	if (p->client == NULL) {
		free(p);
		return NULL;
	}
	p->wake = wake;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void pools_free(struct pools *p)
{
	if (p == NULL)
		return;
	while (p->returned != NULL) {
		struct returned *r = p->returned;

		p->returned = r->next;
		free(r);
	}
	pool_client_free(p->client);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

struct dbq *pools_ear(struct pools *p)
{
	return pool_client_ear(p->client);
}

bool pools_idle(struct pools *p)
{
	bool idle;

	pthread_mutex_lock(&p->lock);
	idle = p->asks == NULL && p->returned == NULL;
	pthread_mutex_unlock(&p->lock);
	return idle && p->quiet;
}

/* --- the thread that ticks */

static void tell(struct ask *a)
{
	a->answered = true;
	wakeup_signal(a->event_fd);
}

static void refuse(struct ask *a, const char *code, const char *reason, long retry_after_sec)
{
	snprintf(a->grant->error_code, sizeof a->grant->error_code, "%s", code);
	snprintf(a->grant->reason, sizeof a->grant->reason, "%s", reason);
	a->grant->retry_after_sec = retry_after_sec;
	tell(a);
}

static void decided(void *arg, const struct pool_answer *answer)
{
	struct ask *a = arg;
	struct pools *p = a->pools;

	pthread_mutex_lock(&p->lock);
	a->wait = NULL;
	a->grant->lease = answer->lease;
	a->grant->waited_ms = answer->waited_ms;
	if (answer->lease != NULL) {
		snprintf(a->grant->url, sizeof a->grant->url, "%s", answer->url);
		snprintf(a->grant->base_url, sizeof a->grant->base_url, "%s", answer->base_url);
		tell(a);
	} else {
		refuse(a, answer->error_code, answer->reason, answer->retry_after_sec);
	}
	pthread_mutex_unlock(&p->lock);
}

static void go_on(struct pools *p, struct ask *a)
{
	if (a->answered)
		return;
	if (a->gone || p->stopping) {
		if (a->wait != NULL)
			pool_cancel(a->wait);
		a->wait = NULL;
		refuse(a, a->gone ? "CANCELLED" : "SHUTTING_DOWN", "", 1);
	} else if (a->wait == NULL) {
		a->wait = pool_acquire(p->client, a->pool, decided, a);
		if (a->wait == NULL)
			refuse(a, "DB_UNAVAILABLE", "out of memory", 1);
	}
}

/* Called with the lock; nothing of the client's calls back from here. */
static void give_back(struct pools *p)
{
	while (p->returned != NULL) {
		struct returned *r = p->returned;

		p->returned = r->next;
		if (r->evict)
			pool_evict(r->lease, r->reason);
		else
			pool_release(r->lease);
		free(r);
	}
}

int64_t pools_tick(struct pools *p, int64_t now)
{
	int64_t next;

	pthread_mutex_lock(&p->lock);
	give_back(p);
	for (struct ask *a = p->asks; a != NULL; a = a->next)
		go_on(p, a);
	p->quiet = pool_client_idle(p->client);
	pthread_mutex_unlock(&p->lock);
	next = pool_client_tick(p->client, now);
	p->quiet = pool_client_idle(p->client);
	return next;
}

void pools_stop(struct pools *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}

/* --- the threads that call */

/* Takes the ask out if it is answered. */
static bool is_answered(struct pools *p, struct ask *a)
{
	bool answered;

	pthread_mutex_lock(&p->lock);
	answered = a->answered;
	for (struct ask **at = &p->asks; answered && *at != NULL; at = &(*at)->next) {
		if (*at == a) {
			*at = a->next;
			break;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return answered;
}

static void mark_gone(struct pools *p, struct ask *a)
{
	pthread_mutex_lock(&p->lock);
	a->gone = true;
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}

void pools_acquire(struct pools *p, const char *pool, int event_fd, int client_fd, struct pool_grant *ret)
{
	struct pollfd fds[2] = {{.fd = event_fd, .events = POLLIN}, {.fd = client_fd, .events = POLLRDHUP}};
	struct ask a = {.pools = p, .pool = pool, .grant = ret, .event_fd = event_fd};

	*ret = (struct pool_grant){0};
	wakeup_drain(event_fd);
	pthread_mutex_lock(&p->lock);
	a.next = p->asks;
	p->asks = &a;
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
	while (!is_answered(p, &a)) {
		if (poll(fds, 2, -1) > 0 && (fds[1].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) {
			fds[1].fd = -1;
			mark_gone(p, &a);
		}
		wakeup_drain(event_fd);
	}
}

void pools_return(struct pools *p, struct pool_grant *grant, const char *evict)
{
	struct returned *r = calloc(1, sizeof *r);

	if (r == NULL)
		return; /* the heartbeat still names it; the end of this process gives it back */
	r->lease = grant->lease;
	r->evict = evict != NULL;
	if (evict != NULL)
		snprintf(r->reason, sizeof r->reason, "%s", evict);
	grant->lease = NULL;
	pthread_mutex_lock(&p->lock);
	r->next = p->returned;
	p->returned = r;
	pthread_mutex_unlock(&p->lock);
	wakeup_signal(p->wake);
}
