/* SPDX-License-Identifier: Apache-2.0 */
#include "common/waiting.h"

#include "common/clock.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

enum { WAIT_MAX_MS = 1000 };

int waiting_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void waiting_once(
    struct http *http, const int *fds, size_t n_fds, const struct dbq *const *dbs, size_t n_dbs, int64_t until)
{
	struct curl_waitfd all[WAITING_FDS_MAX] = {{0}};
	unsigned n = 0;
	int64_t wait;

	for (size_t i = 0; i < n_fds && n < WAITING_FDS_MAX; i++)
		all[n++] = (struct curl_waitfd){.fd = fds[i], .events = CURL_WAIT_POLLIN};
	for (size_t i = 0; i < n_dbs; i++) {
		bool writes = (dbq_events(dbs[i]) & POLLOUT) != 0;

		if (dbq_wake_at(dbs[i]) < until)
			until = dbq_wake_at(dbs[i]);
		if (dbq_fd(dbs[i]) >= 0 && n < WAITING_FDS_MAX)
			all[n++] = (struct curl_waitfd){.fd = dbq_fd(dbs[i]),
			    .events = (short)(CURL_WAIT_POLLIN | (writes ? CURL_WAIT_POLLOUT : 0))};
	}
	wait = until - clock_ms();
	if (wait > WAIT_MAX_MS)
		wait = WAIT_MAX_MS;
	curl_multi_poll(http_multi(http), all, n, wait > 0 ? (int)wait : 0, NULL);
}
