/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/loop.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/waiting.h"
#include "manager/driver_docker.h"
#include "manager/driver_exec.h"
#include "manager/reconcile.h"
#include "manager/worker.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { STOP_MS = 10000, STOP_GRACE_MS = 5000 };

static int64_t (*const ticks[])(struct manager *m, int64_t now) = {docker_tick, workers_tick, reconcile_tick};

static void take_signals(struct manager *m, bool *stop, bool *stop_workers, void (*reload)(struct manager *m))
{
	struct signalfd_siginfo info;

	while (read(m->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGHUP) {
			sd_notify(0, "RELOADING=1");
			reload(m);
			sd_notify(0, "READY=1");
			continue;
		}
		*stop = true;
		*stop_workers = *stop_workers || info.ssi_signo == SIGINT;
	}
}

static void watch_connection(struct manager *m, bool *was_connected)
{
	bool connected = dbq_connected(m->db);

	if (connected == *was_connected)
		return;
	if (connected) {
		log_info("connected to the database");
	} else {
		log_warning("%s", dbq_fault(m->db));
		metrics_add(m->metrics, METRIC_DB_RECONNECTS_MANAGER);
	}
	sd_notifyf(0, "STATUS=%s", connected ? "working" : dbq_fault(m->db));
	*was_connected = connected;
}

static void wait_once(struct manager *m, int64_t until)
{
	const int fds[] = {m->signal_fd, m->exit_fd};
	const struct dbq *const dbs[] = {m->db, m->ear};

	waiting_once(m->http, fds, sizeof fds / sizeof *fds, dbs, sizeof dbs / sizeof *dbs, until);
}

static void go_on_stopping(struct manager *m, bool stop_workers, int64_t since)
{
	if (!m->sync.stopping) {
		log_info(stop_workers ? "stopping, and all workers with me" : "stopping; the workers stay");
		sd_notify(0, "STOPPING=1");
	}
	for (struct worker *w = m->workers; stop_workers && w != NULL; w = w->next)
		worker_stop(m, w, w->grace_ms < STOP_GRACE_MS ? w->grace_ms : STOP_GRACE_MS);
	if ((!stop_workers || m->workers == NULL || clock_ms() - since > STOP_MS) && dbq_idle(m->db))
		reconcile_stop(m);
	m->sync.stopping = true;
}

void loop_run(struct manager *m, void (*reload)(struct manager *m))
{
	bool stop = false, stop_workers = false, was_connected = false;
	int64_t stop_since = 0, until = 0;
	uint64_t watchdog_us = 0;

	sd_watchdog_enabled(0, &watchdog_us);
	sd_notify(0, "READY=1");
	while (!(m->sync.stopped && dbq_idle(m->db)) && !(stop && clock_ms() - stop_since > 2 * STOP_MS)) {
		wait_once(m, until);
		take_signals(m, &stop, &stop_workers, reload);
		dbq_step(m->db, clock_ms());
		dbq_step(m->ear, clock_ms());
		exec_reap(m);
		http_step(m->http);
		watch_connection(m, &was_connected);
		if (stop && stop_since == 0)
			stop_since = clock_ms();
		if (stop)
			go_on_stopping(m, stop_workers, stop_since);
		until = INT64_MAX;
		for (size_t i = 0; i < sizeof ticks / sizeof *ticks && !m->sync.stopped; i++) {
			int64_t next = ticks[i](m, clock_ms());

			until = next < until ? next : until;
		}
		dbq_step(m->db, clock_ms());
		http_step(m->http);
		if (watchdog_us > 0)
			sd_notify(0, "WATCHDOG=1");
	}
}
