/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/loop.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/waiting.h"
#include "dispatcher/analyze.h"
#include "dispatcher/commit.h"
#include "dispatcher/counters.h"
#include "common/http.h"
#include "common/pool_client.h"
#include "common/router_client.h"
#include "dispatcher/followups.h"
#include "dispatcher/janitor.h"
#include "dispatcher/membership.h"
#include "dispatcher/tasks.h"
#include "dispatcher/sampler.h"
#include "dispatcher/sweeper.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { FINISH_MS = 7000, STOP_MS = 10000 };

static int64_t router_tick(struct dispatcher *d, int64_t now)
{
	return router_client_tick(d->router_client, now);
}

static int64_t pools_tick(struct dispatcher *d, int64_t now)
{
	return pool_client_tick(d->pools, now);
}

static int64_t (*const ticks[])(struct dispatcher *d, int64_t now) = {
    membership_tick,
    sampler_tick,
    sweeper_tick,
    counters_tick,
    janitor_tick,
    router_tick,
    pools_tick,
    analyze_tick,
    followups_tick,
    commit_tick,
};

static void take_signals(struct dispatcher *d, bool *stop, void (*reload)(struct dispatcher *d))
{
	struct signalfd_siginfo info;

	while (read(d->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGHUP) {
			sd_notify(0, "RELOADING=1");
			reload(d);
			sd_notify(0, "READY=1");
		} else {
			*stop = true;
		}
	}
}

static void watch_connection(struct dispatcher *d, bool *was_connected)
{
	bool connected = dbq_connected(d->db);

	if (connected == *was_connected)
		return;
	if (connected) {
		log_info("connected to the database");
	} else {
		log_warning("%s", dbq_fault(d->db));
		metrics_add(d->metrics, METRIC_DB_RECONNECTS_DISPATCHER);
	}
	sd_notifyf(0, "STATUS=%s", connected ? "working" : dbq_fault(d->db));
	*was_connected = connected;
}

/* Waits for whatever comes first. */
static void wait_once(struct dispatcher *d, int64_t until)
{
	const int fds[] = {d->signal_fd, tasks_fd(d->tasks)};
	const struct dbq *const dbs[] = {d->db, d->ear, router_client_ear(d->router_client), pool_client_ear(d->pools)};

	waiting_once(d->http, fds, sizeof fds / sizeof *fds, dbs, sizeof dbs / sizeof *dbs, until);
}

/* From SIGTERM on: requests under way may finish, for a while; then everything is given back, written, and signed off.
 */
static void go_on_stopping(struct dispatcher *d, int64_t since)
{
	if (!d->stopping) {
		log_info("stopping");
		sd_notify(0, "STOPPING=1");
		d->stopping = true;
	}
	if (clock_ms() - since > FINISH_MS) {
		analyze_abort(d);
		followups_abort(d);
	}
	if (analyze_idle(d) && followups_idle(d) &&
	    ((commit_pending(d) == 0 && pool_client_idle(d->pools)) || !dbq_connected(d->db)) &&
	    !d->membership.stopping)
		membership_stop(d);
}

void loop_run(struct dispatcher *d, void (*reload)(struct dispatcher *d))
{
	uint64_t watchdog_us = 0;
	bool stop = false, was_connected = false;
	int64_t stop_since = 0, until = 0;

	sd_watchdog_enabled(0, &watchdog_us);
	sd_notify(0, "READY=1");
	while (!(d->membership.stopped && dbq_idle(d->db)) && !(stop && clock_ms() - stop_since > STOP_MS)) {
		wait_once(d, until);
		take_signals(d, &stop, reload);
		dbq_step(d->db, clock_ms());
		dbq_step(d->ear, clock_ms());
		http_step(d->http);
		tasks_finish(d->tasks);
		watch_connection(d, &was_connected);
		if (stop && stop_since == 0)
			stop_since = clock_ms();
		if (stop)
			go_on_stopping(d, stop_since);
		until = INT64_MAX;
		for (size_t i = 0; i < sizeof ticks / sizeof *ticks && !d->membership.stopping; i++) {
			int64_t next = ticks[i](d, clock_ms());

			until = next < until ? next : until;
		}
		http_step(d->http); /* first what somebody waits for, then the next claim */
		dbq_step(d->db, clock_ms());
		if (watchdog_us > 0)
			sd_notify(0, "WATCHDOG=1");
	}
}
