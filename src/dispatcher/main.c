/* SPDX-License-Identifier: Apache-2.0
 * cam-dispatcher: samples the host's health, does the periodic work, and works on the job queue. Any number may
 * run, on any host that reaches the database. */
#include "common/clock.h"
#include "common/log.h"
#include "common/pool_client.h"
#include "common/program.h"
#include "common/router_client.h"
#include "common/waiting.h"
#include "dispatcher/analyze.h"
#include "dispatcher/commit.h"
#include "common/http.h"
#include "dispatcher/followups.h"
#include "dispatcher/job.h"
#include "dispatcher/loop.h"
#include "dispatcher/janitor.h"
#include "dispatcher/tasks.h"

#include <curl/curl.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of notifications so many that one receiver that hangs does not keep the others from hearing. */
enum { NOTIFY_INFLIGHT = 32, ESCALATE_INFLIGHT = 2, HEAP_KEPT = 4 * 1024 * 1024 };

static int arg_count;
static char **arg_values;

/* The two connections to the database. */
static int open_database(const struct conf *conf, const char *permit_channel, struct dbq **ret_db, struct dbq **ret_ear)
{
	*ret_db = dbq_new(conf->database_url, "cam-dispatcher", (int)conf->db_timeout_ms);
	*ret_ear = dbq_new(conf->database_url, "cam-dispatcher listening", (int)conf->db_timeout_ms);
	if (*ret_db == NULL || *ret_ear == NULL) {
		dbq_free(*ret_db);
		dbq_free(*ret_ear);
		*ret_db = *ret_ear = NULL;
		return -1;
	}
	dbq_listen(*ret_ear, "camserver_jobs");
	dbq_listen(*ret_ear, permit_channel);
	return 0;
}

/* What asks the database through d->db, anew. */
static int open_clients(struct dispatcher *d)
{
	router_client_free(d->router_client);
	pool_client_free(d->pools);
	d->router_client = router_client_new(d->router, d->db, d->http, d->conf.database_url, "cam-dispatcher");
	d->pools = pool_client_new(&d->conf, d->db, "cam-dispatcher");
	return d->router_client != NULL && d->pools != NULL ? 0 : -1;
}

/* A configuration that cannot be read leaves the running one as it is. */
static void reload(struct dispatcher *d)
{
	struct dbq *db, *ear;
	bool moved = false;
	struct conf conf;
	struct err e;

	if (program_reload(arg_count, arg_values, &conf, &e) < 0) {
		log_error("configuration not reloaded: %s", e.msg);
		conf_free(&conf);
		return;
	}
	log_open("cam-dispatcher", (enum log_level)conf.log_level);
	if (strcmp(conf.database_url, d->conf.database_url) != 0 &&
	    open_database(&conf, d->permit_channel, &db, &ear) == 0) {
		/* What the old connection was asked is answered as lost; nobody waits for it any more. */
		analyze_abort(d);
		followups_abort(d);
		dbq_give_up(d->db);
		dbq_free(d->db);
		dbq_free(d->ear);
		d->db = db;
		d->ear = ear;
		d->membership.registered = d->sampler.known = false;
		moved = true;
	} else {
		dbq_rename(d->db, conf.database_url);
		dbq_rename(d->ear, conf.database_url);
		dbq_rename(router_client_ear(d->router_client), conf.database_url);
		dbq_rename(pool_client_ear(d->pools), conf.database_url);
	}
	d->membership.due = 0; /* what its heartbeat says may have changed */
	d->membership.node_configured = false;
	conf_free(&d->conf);
	d->conf = conf;
	if (moved && open_clients(d) < 0) {
		log_error("cannot go on: out of memory");
		exit(EXIT_FAILURE);
	}
	http_trust(d->http, d->conf.ca_file);
	log_info("configuration reloaded");
}

/* As permit_serve() calls it. */
static void name_permit_channel(struct dispatcher *d)
{
	char *out = stpcpy(d->permit_channel, "permit_");

	for (const char *p = d->id; *p != '\0'; p++)
		if (*p != '-')
			*out++ = *p;
	*out = '\0';
}

static void free_jobs(struct lane *lane)
{
	while (lane->jobs != NULL)
		job_free(lane->jobs);
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
	/* Images come and go: without this every one of them is given back to the kernel and faulted in again. They are
	 * read by one thread and freed by another: one heap for all is smaller. */
	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	mallopt(M_ARENA_MAX, 1);
	if (program_start(&program, argc, argv, 0, &d.conf, &status) < 0)
		goto out;
	status = EXIT_FAILURE;
	ident_new_uuid(d.id);
	name_permit_channel(&d);
	d.sampler.limits = health_default_limits;
	d.membership.interval_ms = 10000;
	d.analyze.lane.inflight_max = d.followups.lanes[FOLLOWUP_ARCHIVE].inflight_max = 8;
	d.followups.lanes[FOLLOWUP_NOTIFY].inflight_max = NOTIFY_INFLIGHT;
	d.followups.lanes[FOLLOWUP_ESCALATE].inflight_max = ESCALATE_INFLIGHT;
	d.backoff_base_ms = 1000;
	d.backoff_max_ms = 60000;
	d.retention = retention_default_rules;
	d.metrics = metrics_open(d.conf.run_dir, &e);
	if (d.metrics == NULL)
		log_warning("going on without counters: %s", e.msg);
	metrics_join(d.metrics, program.name);
	d.signal_fd = waiting_signals();
	srandom((unsigned)getpid() ^ (unsigned)clock_ms());
	if (d.signal_fd < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != 0 ||
	    open_database(&d.conf, d.permit_channel, &d.db, &d.ear) < 0 || (d.http = http_new(&e)) == NULL ||
	    (d.tasks = tasks_new(&e)) == NULL || (d.janitor = janitor_new()) == NULL ||
	    (d.router = router_new(true, d.metrics)) == NULL || open_clients(&d) < 0) {
		log_error("cannot start: out of memory, threads or descriptors");
		goto out;
	}
	http_trust(d.http, d.conf.ca_file);
	http_meter(d.http, d.metrics);
	loop_run(&d, reload);
	log_info("stopped");
	status = EXIT_SUCCESS;
out:
	tasks_free(d.tasks);
	janitor_free(d.janitor);
	free_jobs(&d.analyze.lane);
	for (size_t i = 0; i < FOLLOWUPS; i++)
		free_jobs(&d.followups.lanes[i]);
	pool_client_free(d.pools);
	router_client_free(d.router_client);
	router_free(d.router);
	http_free(d.http);
	curl_global_cleanup();
	commit_free(&d);
	dbq_free(d.ear);
	dbq_free(d.db);
	metrics_close(d.metrics);
	if (d.signal_fd >= 0)
		close(d.signal_fd);
	conf_free(&d.conf);
	return status;
}
