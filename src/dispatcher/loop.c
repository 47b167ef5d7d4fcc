/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/loop.h"

#include "common/clock.h"
#include "common/log.h"
#include "dispatcher/counters.h"
#include "dispatcher/membership.h"
#include "dispatcher/sampler.h"
#include "dispatcher/sweeper.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { WAIT_MAX_MS = 1000, STOP_MS = 10000 };

static int64_t (*const ticks[])(struct dispatcher *d, int64_t now) = {
    membership_tick,
    sampler_tick,
    sweeper_tick,
    counters_tick,
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
	if (connected)
		log_info("connected to the database");
	else
		log_warning("%s", dbq_fault(d->db));
	sd_notifyf(0, "STATUS=%s", connected ? "working" : dbq_fault(d->db));
	*was_connected = connected;
}

/* Waits for whatever comes first. */
static void wait_once(struct dispatcher *d, int64_t until)
{
	struct curl_waitfd fds[2] = {{.fd = d->signal_fd, .events = CURL_WAIT_POLLIN}};
	int64_t now = clock_ms(), wait = until - now;
	unsigned n = 1;

	if (dbq_fd(d->db) >= 0) {
		fds[n].fd = dbq_fd(d->db);
		fds[n].events = (short)(CURL_WAIT_POLLIN | ((dbq_events(d->db) & POLLOUT) != 0 ? CURL_WAIT_POLLOUT : 0));
		n++;
	}
	if (dbq_wake_at(d->db) - now < wait)
		wait = dbq_wake_at(d->db) - now;
	if (wait > WAIT_MAX_MS)
		wait = WAIT_MAX_MS;
	curl_multi_poll(d->http, fds, n, wait > 0 ? (int)wait : 0, NULL);
}

void loop_run(struct dispatcher *d, void (*reload)(struct dispatcher *d))
{
	uint64_t watchdog_us = 0;
	bool stop = false, was_connected = false;
	int64_t give_up = INT64_MAX, until = 0;

	sd_watchdog_enabled(0, &watchdog_us);
	sd_notify(0, "READY=1");
	while (!(d->membership.stopped && dbq_idle(d->db)) && clock_ms() < give_up) {
		wait_once(d, until);
		take_signals(d, &stop, reload);
		dbq_step(d->db, clock_ms());
		watch_connection(d, &was_connected);
		if (stop && !d->membership.stopping) {
			log_info("stopping");
			sd_notify(0, "STOPPING=1");
			membership_stop(d);
			give_up = clock_ms() + STOP_MS;
		}
		until = INT64_MAX;
		for (size_t i = 0; i < sizeof ticks / sizeof *ticks && !d->membership.stopping; i++) {
			int64_t next = ticks[i](d, clock_ms());

			until = next < until ? next : until;
		}
		dbq_step(d->db, clock_ms());
		if (watchdog_us > 0)
			sd_notify(0, "WATCHDOG=1");
	}
}
