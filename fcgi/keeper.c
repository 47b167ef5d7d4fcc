/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/keeper.h"

#include "common/clock.h"
#include "common/http.h"
#include "common/router_client.h"
#include "fcgi/wakeup.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { WAIT_MAX_MS = 1000, FAREWELL_MS = 2000, FDS_MAX = 4 };

static const char name[] = "gateway.fcgi";

struct keeper_private {
	struct metrics *metrics;
	struct dbq *dbq;
	struct http *http;
	struct router_client *nodes;
	pthread_t thread;
	bool started;
	_Atomic bool ending;
	int wake;
};

static void add_dbq(struct curl_waitfd *fds, unsigned *n, const struct dbq *q, int64_t *until)
{
	if (dbq_wake_at(q) < *until)
		*until = dbq_wake_at(q);
	if (dbq_fd(q) < 0)
		return;
	fds[*n].fd = dbq_fd(q);
	fds[(*n)++].events = (short)(CURL_WAIT_POLLIN | ((dbq_events(q) & POLLOUT) != 0 ? CURL_WAIT_POLLOUT : 0));
}

static void wait_once(struct keeper *k, int64_t until)
{
	struct keeper_private *p = k->private;
	struct curl_waitfd fds[FDS_MAX] = {{.fd = p->wake, .events = CURL_WAIT_POLLIN}};
	unsigned n = 1;
	int64_t wait;

	add_dbq(fds, &n, p->dbq, &until);
	add_dbq(fds, &n, router_client_ear(p->nodes), &until);
	if (k->pools != NULL)
		add_dbq(fds, &n, pools_ear(k->pools), &until);
	wait = until - clock_ms();
	curl_multi_poll(http_multi(p->http), fds, n,
	    wait <= 0            ? 0
	    : wait > WAIT_MAX_MS ? WAIT_MAX_MS
				 : (int)wait,
	    NULL);
	if (fds[0].revents != 0)
		wakeup_drain(p->wake);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void *run(void *arg)
{
	struct keeper *k = arg;
	struct keeper_private *p = k->private;
	bool was_connected = false;

	while (!p->ending) {
		int64_t until;

		dbq_step(p->dbq, clock_ms());
		if (was_connected && !dbq_connected(p->dbq))
			metrics_add(p->metrics, METRIC_DB_RECONNECTS_GATEWAY);
		was_connected = dbq_connected(p->dbq);
		http_step(p->http);
		until = permits_tick(k->permits, clock_ms());
		until = sooner(until, router_client_tick(p->nodes, clock_ms()));
		if (k->pools != NULL)
			until = sooner(until, pools_tick(k->pools, clock_ms()));
		dbq_step(p->dbq, clock_ms());
		http_step(p->http);
		wait_once(k, until);
	}
	return NULL;
}

static int start(struct keeper *k, const struct conf *conf, struct metrics *metrics, struct err *e)
{
	struct keeper_private *p = k->private;

	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake < 0)
		return err_set(e, "no event descriptor");
	err_set(e, "out of memory");
	p->metrics = metrics;
	p->dbq = dbq_new(conf->database_url, name, (int)conf->db_timeout_ms);
	p->http = http_new(e);
	k->router = router_new(false, metrics);
	if (p->dbq == NULL || p->http == NULL || k->router == NULL)
		return -1;
	http_trust(p->http, conf->ca_file);
	http_meter(p->http, metrics);
	k->permits = permits_new(conf, p->dbq, p->wake);
	p->nodes = router_client_new(k->router, p->dbq, p->http, conf->database_url, name);
	if (conf->enable_container_pooling)
		k->pools = pools_new(conf, p->dbq, p->wake);
	if (k->permits == NULL || p->nodes == NULL || (conf->enable_container_pooling && k->pools == NULL))
		return -1;
	p->started = pthread_create(&p->thread, NULL, run, k) == 0;
	return p->started ? 0 : err_set(e, "cannot start the thread that keeps permits and workers");
}

struct keeper *keeper_new(const struct conf *conf, struct metrics *metrics, struct err *e)
{
	struct keeper *k = calloc(1, sizeof *k);

	if (k != NULL)
		k->private = calloc(1, sizeof *k->private);
	if (k == NULL || k->private == NULL) {
		err_set(e, "out of memory");
		free(k);
		return NULL;
	}
	k->private->wake = -1;
	if (start(k, conf, metrics, e) == 0)
		return k;
	keeper_free(k);
	return NULL;
}

void keeper_stop(struct keeper *k)
{
	permits_stop(k->permits);
	if (k->pools != NULL)
		pools_stop(k->pools);
}

static bool is_idle(struct keeper *k)
{
	return permits_idle(k->permits) && (k->pools == NULL || pools_idle(k->pools));
}

void keeper_free(struct keeper *k)
{
	int64_t until = clock_ms() + FAREWELL_MS;
	struct keeper_private *p;

	if (k == NULL)
		return;
	p = k->private;
	if (p->started) {
		while (!is_idle(k) && clock_ms() < until)
			usleep(10000);
		p->ending = true;
		wakeup_signal(p->wake);
		pthread_join(p->thread, NULL);
	}
	router_client_free(p->nodes);
	pools_free(k->pools);
	permits_free(k->permits);
	router_free(k->router);
	http_free(p->http);
	dbq_free(p->dbq);
	if (p->wake >= 0)
		close(p->wake);
	free(p);
	free(k);
}
