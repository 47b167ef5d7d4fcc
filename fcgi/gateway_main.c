/* SPDX-License-Identifier: Apache-2.0
 * gateway.fcgi: model calls. A thread serves a request from its wait for a permit to the end of the model's answer; a
 * fixed number of them, and one more that speaks with the database for all. Apart from camserver.fcgi, so that a slow
 * model never delays a heartbeat. */
#include "common/clock.h"
#include "common/log.h"
#include "common/program.h"
#include "fcgi/gateway.h"
#include "fcgi/serve.h"

#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { BODY_KEPT_MAX = 17 * 1024 * 1024, STACK_BYTES = 512 * 1024, GRACE_MS = 10000, NUDGE_MS = 50 };

static _Atomic bool stopping, cutting_off;

struct thread {
	struct worker worker;
	pthread_t id;
	bool started;
	_Atomic bool ended;
};

/* Only to end an accept() that waits. */
static void nothing(int sig)
{
	(void)sig;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	FCGX_Request fcgi;
	struct buf body;

	buf_init(&body, BODY_KEPT_MAX);
	if (FCGX_InitRequest(&fcgi, 0, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		log_error("out of memory");
	} else {
		while (!stopping) {
			int accepted = FCGX_Accept_r(&fcgi);

			if (accepted == 0) {
				serve(&t->worker.api, &body, &fcgi);
				FCGX_Finish_r(&fcgi);
			} else if (accepted != -EINTR && !stopping) {
				log_error("no connection can be accepted: %s", strerror(-accepted));
				break;
			}
		}
	}
	buf_free(&body);
	t->ended = true;
	return NULL;
}

static int start_thread(struct thread *t, const struct conf *conf, struct metrics *metrics, struct keeper *keeper)
{
	pthread_attr_t attributes;

	t->worker = (struct worker){.api = {.conf = conf, .metrics = metrics},
	    .keeper = keeper,
	    .relay = relay_new(&cutting_off, metrics),
	    .event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (t->worker.relay == NULL || t->worker.event_fd < 0)
		return -1;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	t->started = pthread_create(&t->id, &attributes, run, t) == 0;
	pthread_attr_destroy(&attributes);
	return t->started ? 0 : -1;
}

/* Signals are sent again and again: one that comes just before accept() is not seen by it. */
static bool nudge(struct thread *threads, long n)
{
	bool all_ended = true;

	for (long i = 0; i < n; i++) {
		if (!threads[i].started || threads[i].ended)
			continue;
		all_ended = false;
		pthread_kill(threads[i].id, SIGUSR2);
	}
	return all_ended;
}

static void stop_threads(struct thread *threads, long n, struct keeper *keeper)
{
	int64_t grace = clock_ms() + GRACE_MS;

	stopping = true;
	keeper_stop(keeper);
	while (!nudge(threads, n)) {
		nanosleep(&(struct timespec){.tv_nsec = NUDGE_MS * 1000000L}, NULL);
		cutting_off = clock_ms() >= grace;
	}
	for (long i = 0; i < n; i++) {
		if (threads[i].started)
			pthread_join(threads[i].id, NULL);
		relay_free(threads[i].worker.relay);
		if (threads[i].worker.event_fd >= 0)
			close(threads[i].worker.event_fd);
	}
}

static int serve_all(const struct conf *conf, struct metrics *metrics, struct keeper *keeper)
{
	struct thread *threads = calloc((size_t)conf->gateway_threads, sizeof *threads);
	long started = 0;
	sigset_t ends;
	int sig;

	if (threads == NULL)
		return -1;
	while (started < conf->gateway_threads && start_thread(&threads[started], conf, metrics, keeper) == 0)
		started++;
	if (started == conf->gateway_threads) {
		log_info("%ld threads", started);
		sigemptyset(&ends);
		sigaddset(&ends, SIGTERM);
		sigaddset(&ends, SIGINT);
		sigaddset(&ends, SIGUSR1);
		sigwait(&ends, &sig);
	} else {
		log_error(
		    "only %ld of %ld threads could be started: %s", started, conf->gateway_threads, strerror(errno));
	}
	stop_threads(threads, started, keeper);
	free(threads);
	return started == conf->gateway_threads ? 0 : -1;
}

/* The library's own handlers are for programs of one thread. */
static void prepare_signals(void)
{
	struct sigaction nudged = {.sa_handler = nothing}, ignored = {.sa_handler = SIG_IGN};
	sigset_t ends;

	sigaction(SIGUSR2, &nudged, NULL);
	sigaction(SIGPIPE, &ignored, NULL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
}

int main(int argc, char **argv)
{
	static const struct program program = {"gateway.fcgi", "[options]",
	    "FastCGI program of camserver for model calls; spawn-fcgi or a web server starts it.\n"};
	struct metrics *metrics = NULL;
	struct keeper *keeper = NULL;
	struct conf conf;
	struct err e;
	int status = EXIT_FAILURE;

	if (program_start(&program, argc, argv, 0, &conf, &status) < 0)
		goto out;
	status = EXIT_FAILURE;
	if (FCGX_IsCGI() || FCGX_Init() != 0) {
		log_error("there is no FastCGI socket on standard input; start me with spawn-fcgi, as systemd/ shows");
		goto out;
	}
	prepare_signals();
	mallopt(M_MXFAST, 0); /* else each large buffer that is given back has the heap tidied up */
	curl_global_init(CURL_GLOBAL_DEFAULT);
	metrics = metrics_open(conf.run_dir, &e);
	if (metrics == NULL)
		log_warning("going on without counters: %s", e.msg);
	metrics_join(metrics, program.name);
	metrics_gauge_set(metrics, GAUGE_GATEWAY_WAITING_MAX, conf.gateway_threads);
	keeper = keeper_new(&conf, metrics, &e);
	if (keeper == NULL) {
		log_error("%s", e.msg);
		goto out;
	}
	if (serve_all(&conf, metrics, keeper) == 0)
		status = EXIT_SUCCESS;
out:
	keeper_free(keeper);
	metrics_close(metrics);
	curl_global_cleanup();
	conf_free(&conf);
	return status;
}
