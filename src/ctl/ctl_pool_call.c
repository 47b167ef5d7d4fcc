/* SPDX-License-Identifier: Apache-2.0
 * camctl pool call: a worker is acquired, called, and given back whatever happens, as the other programs do it. */
#include "common/clock.h"
#include "common/file.h"
#include "common/http.h"
#include "common/jpeg.h"
#include "common/json.h"
#include "common/pool_client.h"
#include "common/waiting.h"
#include "common/spool.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS_MAX = 100000, PARALLEL_MAX = 1000, CALL_MS = 120000, ANSWER_MAX = 16 * 1024 * 1024, GIVE_BACK_MS = 10000 };

struct task {
	const struct conf *conf;
	struct conf own; /* conf with camctl's way to the database */
	struct dbq *db;
	struct http *http;
	struct pool_client *pools;
	const char *pool, *type;
	char *body;
	size_t body_len;
	long left, running, good, cold, timeout_ms;
	bool quiet;
};

struct call {
	struct task *task;
	struct pool_lease *lease;
};

static void finish(struct call *c, bool good)
{
	c->task->running--;
	c->task->good += good;
	free(c);
}

static void answered(void *arg, const struct http_answer *a)
{
	struct call *c = arg;
	bool good = a->status >= 200 && a->status < 300;
	char why[300];

	if (!c->task->quiet && a->status != 0)
		printf("%.*s%s", (int)a->len, a->body, a->len > 0 && a->body[a->len - 1] == '\n' ? "" : "\n");
	/* An answer, even an unfriendly one, is a worker that works; no answer is one that does not. */
	if (a->status != 0 && a->status < 500) {
		pool_release(c->lease);
	} else {
		if (a->status != 0)
			snprintf(why, sizeof why, "the call was answered with %ld", a->status);
		else
			snprintf(why, sizeof why, "the call failed: %s", a->fault);
		fprintf(stderr, "camctl: %s\n", why);
		pool_evict(c->lease, why);
	}
	finish(c, good);
}

static void send_call(struct call *c, const char *url)
{
	struct task *t = c->task;
	struct http_request r = {.method = "GET", .url = url, .timeout_ms = t->timeout_ms, .answer_max = ANSWER_MAX};
	char now[32];
	time_t seconds = time(NULL);
	struct tm utc;

	strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
	if (t->body != NULL && strcmp(t->type, "image") == 0) {
		r.form = (struct http_part[]){{.name = "camera_id", .text = "camctl"},
		    {.name = "captured_at", .text = now}, {.name = "schema_version", .text = t->conf->schema_version},
		    {.name = "infer_image",
			.data = t->body,
			.len = t->body_len,
			.file_name = "frame.jpg",
			.type = "image/jpeg"},
		    {.name = NULL}};
		r.method = "POST";
		if (http_start(t->http, &r, answered, c) != NULL)
			return;
	} else {
		r.json = t->body;
		r.method = t->body != NULL ? "POST" : "GET";
		if (http_start(t->http, &r, answered, c) != NULL)
			return;
	}
	pool_release(c->lease); /* nothing was sent */
	finish(c, false);
}

static void acquired(void *arg, const struct pool_answer *a)
{
	struct call *c = arg;

	if (a->lease == NULL) {
		fprintf(stderr, "camctl: %s: %s\n", a->error_code, a->reason);
		finish(c, false);
		return;
	}
	c->lease = a->lease;
	c->task->cold += a->cold;
	if (!c->task->quiet)
		fprintf(stderr, "camctl: %s%s, waited %ld ms\n", a->url, a->cold ? ", started for this call" : "",
		    a->waited_ms);
	send_call(c, a->url);
}

static void begin_one(struct task *t)
{
	struct call *c = calloc(1, sizeof *c);

	t->left--;
	if (c == NULL)
		return;
	c->task = t;
	t->running++;
	if (pool_acquire(t->pools, t->pool, acquired, c) == NULL)
		finish(c, false);
}

static void wait_once(struct task *t, int64_t until)
{
	const struct dbq *const dbs[] = {t->db, pool_client_ear(t->pools)};

	waiting_once(t->http, NULL, 0, dbs, sizeof dbs / sizeof *dbs, until);
}

static void run(struct task *t, long parallel)
{
	int64_t until = 0, end = INT64_MAX;

	while ((t->left > 0 || t->running > 0 || !pool_client_idle(t->pools)) && clock_ms() < end) {
		wait_once(t, until);
		dbq_step(t->db, clock_ms());
		http_step(t->http);
		/* The first connection may take a moment; an acquire before it would be refused. */
		while (t->left > 0 && t->running < parallel && (dbq_connected(t->db) || *dbq_fault(t->db) != '\0'))
			begin_one(t);
		if (t->left == 0 && t->running == 0 && end == INT64_MAX)
			end = clock_ms() + GIVE_BACK_MS;
		until = pool_client_tick(t->pools, clock_ms());
		dbq_step(t->db, clock_ms());
	}
}

static int read_body(struct task *t, const char *path)
{
	struct err e;

	t->type = "json";
	if (path == NULL)
		return 0;
	t->body = file_read_named(path, FRAME_BYTES_MAX, &t->body_len, &e);
	if (t->body == NULL) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return -1;
	}
	if (t->body_len > 1 && memcmp(t->body, "\xff\xd8", 2) == 0)
		t->type = "image";
	return 0;
}

static int go(struct task *t, long parallel)
{
	struct err e;
	long all = t->left;

	t->own = *t->conf;
	t->own.database_url = t->conf->admin_database_url;
	t->db = dbq_new(t->own.database_url, "camctl", (int)t->conf->db_timeout_ms);
	t->http = http_new(&e);
	t->pools = t->db != NULL ? pool_client_new(&t->own, t->db, "camctl") : NULL;
	if (t->http == NULL || t->pools == NULL) {
		fprintf(stderr, "camctl: out of memory\n");
		return EXIT_FAILURE;
	}
	run(t, parallel);
	if (t->quiet)
		printf("%ld of %ld calls went well, %ld workers were started for them\n", t->good, all, t->cold);
	return t->good == all ? EXIT_SUCCESS : EXIT_FAILURE;
}

int ctl_pool_call(struct ctl *ctl)
{
	struct task t = {.conf = ctl->conf};
	double times, parallel, timeout;
	int status = EXIT_FAILURE;

	if (ctl_number(ctl, "--times", 1, 1, CALLS_MAX, &times) < 0 ||
	    ctl_number(ctl, "--parallel", 1, 1, PARALLEL_MAX, &parallel) < 0 ||
	    ctl_number(ctl, "--timeout", CALL_MS / 1000, 0.001, CALL_MS, &timeout) < 0 || ctl_left(ctl, 2) < 0)
		return EXIT_FAILURE;
	if (ctl->argc < 1) {
		fprintf(stderr, "camctl: which pool?\n");
		return EXIT_FAILURE;
	}
	t.pool = ctl->argv[0];
	t.left = (long)times;
	t.timeout_ms = (long)(timeout * 1000);
	t.quiet = t.left > 1;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (read_body(&t, ctl->argc > 1 ? ctl->argv[1] : NULL) == 0)
		status = go(&t, (long)parallel);
	http_free(t.http);
	pool_client_free(t.pools);
	dbq_free(t.db);
	free(t.body);
	curl_global_cleanup();
	return status;
}
