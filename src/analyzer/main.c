/* SPDX-License-Identifier: Apache-2.0
 * cam-analyzer: the bundled inference node. It speaks the is21 protocol and says about a picture what can be said
 * without a trained model, so that a fresh install works with nothing else. Tests script it to fail. */
#include "analyzer/analyzer.h"
#include "analyzer/options.h"
#include "analyzer/selfcheck.h"
#include "analyzer/server.h"
#include "common/clock.h"
#include "common/log.h"

#include <malloc.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* A large progressive picture takes 200 MB while it is decoded; more at a time than processors gains nothing. */
enum { DECODERS_MAX = 2 };

/* Freed pictures go back to the system: without this the C library learns to keep blocks of their size. */
static void tame_malloc(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 * 1024);
	mallopt(M_ARENA_MAX, 2);
}

static int open_analyzer(struct analyzer *a, const struct options *o, struct err *e)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	a->max_inflight = o->max_inflight;
	a->started_ms = clock_ms();
	sem_init(&a->decoders, 0, processors > 1 ? DECODERS_MAX : 1);
	if (o->script != NULL && (a->script = script_open(o->script, e)) == NULL)
		return -1;
	a->stop_fd = eventfd(0, EFD_CLOEXEC);
	a->schema = schema_new();
	a->scenes = scenes_new();
	a->stats = stats_new();
	if (a->stop_fd < 0 || a->schema == NULL || a->scenes == NULL || a->stats == NULL)
		return err_set(e, "cannot start: out of memory or descriptors");
	return 0;
}

static void close_analyzer(struct analyzer *a)
{
	stats_free(a->stats);
	scenes_free(a->scenes);
	schema_free(a->schema);
	script_close(a->script);
	if (a->stop_fd >= 0)
		close(a->stop_fd);
	sem_destroy(&a->decoders);
}

static void log_address(const struct options *o, unsigned port)
{
	char host[NI_MAXHOST] = "?";
	bool v6 = o->address.ss_family == AF_INET6;

	getnameinfo(
	    (const struct sockaddr *)&o->address, sizeof o->address, host, sizeof host, NULL, 0, NI_NUMERICHOST);
	log_info("listening on %s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static void reload(struct analyzer *a)
{
	struct err e;

	if (a->script == NULL)
		return;
	if (script_reload(a->script, &e) < 0)
		log_error("not reloaded: %s", e.msg);
	else
		log_info("script reloaded");
}

/* Until SIGTERM or SIGINT. All threads have these signals blocked. The watchdog, where there is one, hears three times
 * in its period that requests are answered. */
static void serve(struct analyzer *a, const sigset_t *signals, const struct options *options, unsigned port)
{
	uint64_t watchdog_us = 0;
	struct timespec pause;
	int which = 0;

	sd_watchdog_enabled(0, &watchdog_us);
	pause = (struct timespec){
	    .tv_sec = (time_t)(watchdog_us / 3000000), .tv_nsec = (long)(watchdog_us / 3 % 1000000 * 1000)};
	sd_notify(0, "READY=1");
	while (which != SIGTERM && which != SIGINT) {
		which = watchdog_us > 0 ? sigtimedwait(signals, NULL, &pause) : sigwaitinfo(signals, NULL);
		if (which < 0 && watchdog_us > 0 && selfcheck(&options->address, port))
			sd_notify(0, "WATCHDOG=1");
		if (which == SIGHUP) {
			sd_notify(0, "RELOADING=1");
			reload(a);
			sd_notify(0, "READY=1");
		}
	}
	log_info("stopping");
	sd_notify(0, "STOPPING=1");
}

int main(int argc, char **argv)
{
	struct analyzer a = {.stop_fd = -1};
	struct server *server;
	struct options options;
	sigset_t signals;
	struct err e;
	int status;

	if (options_parse(argc, argv, &options, &status) < 0)
		return status;
	status = EXIT_FAILURE;
	log_open("cam-analyzer", options.log_level);
	tame_malloc();
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (open_analyzer(&a, &options, &e) < 0 ||
	    (server = server_start(&a, (const struct sockaddr *)&options.address, &e)) == NULL) {
		log_error("%s", e.msg);
		goto out;
	}
	log_address(&options, server_port(server));
	serve(&a, &signals, &options, server_port(server));
	eventfd_write(a.stop_fd, 1);
	server_stop(server);
	log_info("stopped");
	status = EXIT_SUCCESS;
out:
	close_analyzer(&a);
	return status;
}
