/* SPDX-License-Identifier: Apache-2.0
 * cam-dispatcher: samples the host's health, does the periodic work, and works on the job queue. Any number may
 * run, on any host that reaches the database. */
#include "common/log.h"
#include "common/program.h"
#include "dispatcher/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int arg_count;
static char **arg_values;

static int open_signals(void)
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

/* A configuration that cannot be read leaves the running one as it is. */
static void reload(struct dispatcher *d)
{
	struct conf conf;
	struct dbq *db;
	struct err e;

	if (program_reload(arg_count, arg_values, &conf, &e) < 0) {
		log_error("configuration not reloaded: %s", e.msg);
		conf_free(&conf);
		return;
	}
	db = dbq_new(conf.database_url, "cam-dispatcher", (int)conf.db_timeout_ms);
	if (db == NULL) {
		log_error("configuration not reloaded: out of memory");
		conf_free(&conf);
		return;
	}
	dbq_free(d->db);
	conf_free(&d->conf);
	d->db = db;
	d->conf = conf;
	d->membership.asking = d->sampler.asking = d->sweeper.asking = d->counters.asking = false;
	d->membership.registered = d->sampler.known = false;
	d->membership.due = 0;
	log_open("cam-dispatcher", (enum log_level)conf.log_level);
	log_info("configuration reloaded");
}

int main(int argc, char **argv)
{
	static const struct program program = {"cam-dispatcher", "[options]",
	    "Works on the job queue, samples this host's health and does the periodic work.\n"
	    "SIGHUP reads the configuration again; SIGTERM finishes and stops.\n"};
	struct dispatcher d = {.signal_fd = -1};
	struct err e;
	int status;

	arg_count = argc;
	arg_values = argv;
	if (program_start(&program, argc, argv, 0, &d.conf, &status) < 0)
		goto out;
	status = EXIT_FAILURE;
	ident_new_uuid(d.id);
	d.sampler.limits = health_default_limits;
	d.metrics = metrics_open(d.conf.run_dir, &e);
	if (d.metrics == NULL)
		log_warning("going on without counters: %s", e.msg);
	d.signal_fd = open_signals();
	d.db = dbq_new(d.conf.database_url, program.name, (int)d.conf.db_timeout_ms);
	if (d.signal_fd < 0 || d.db == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != 0 ||
	    (d.http = curl_multi_init()) == NULL) {
		log_error("cannot start: out of memory or descriptors");
		goto out;
	}
	loop_run(&d, reload);
	log_info("stopped");
	status = EXIT_SUCCESS;
out:
	curl_multi_cleanup(d.http);
	curl_global_cleanup();
	dbq_free(d.db);
	metrics_close(d.metrics);
	if (d.signal_fd >= 0)
		close(d.signal_fd);
	conf_free(&d.conf);
	return status;
}
