/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/analyze.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/router_client.h"
#include "dispatcher/commit.h"
#include "dispatcher/escalate.h"
#include "common/http.h"
#include "dispatcher/is21.h"
#include "dispatcher/job.h"
#include "dispatcher/schema_push.h"
#include "policy/best_frame.h"
#include "policy/notify.h"
#include "policy/retention.h"
#include "policy/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ANALYZE_TIMEOUT_MS = 10000,
	POLL_MS = 1000,        /* without a notification */
	SCHEMA_RETRY_MS = 300, /* a job whose node is being told its schema */
	SENDS_PER_TURN = 16, /* then the loop looks whether the database has answered, so that it never waits for us */
	URL_MAX = 1024,
	ERROR_MAX = 400,
	PERMIT_COLUMN = 7,
	WAIT_COLUMN = 8,
};

bool analyze_idle(const struct dispatcher *d)
{
	return d->analyze.lane.held == 0 && !d->analyze.claiming;
}

/* --- results */

static void add_number(struct json_object *o, const char *name, bool has, double value)
{
	if (has)
		json_object_object_add(o, name, json_object_new_double(value));
}

/* An element of analysis_complete()'s array: the answer and what the policy makes of it. */
static struct json_object *result_item(const struct job *j, const struct is21_result *r)
{
	struct retention keep =
	    retention_classify(&j->d->retention, r->tags, r->n_tags, r->severity, r->unknown_flag, r->detected);
	struct suggest_score suggest = suggest_score(r->severity, r->primary_event, r->tags, r->n_tags);
	const char *rule = notify_rule(r->tags, r->n_tags, r->severity, r->unknown_flag);
	struct json_object *o = json_object_new_object(), *tags = json_object_new_array();

	for (size_t i = 0; i < r->n_tags; i++)
		json_object_array_add(tags, json_object_new_string(r->tags[i]));
	json_object_object_add(o, "job_id", json_object_new_int64(j->id));
	json_object_object_add(o, "token", json_object_new_int64(j->token));
	json_object_object_add(o, "result", json_object_get(r->body));
	json_object_object_add(o, "schema_version",
	    json_object_new_string(r->schema_version != NULL ? r->schema_version : j->d->conf.schema_version));
	json_object_object_add(o, "detected", json_object_new_boolean(r->detected));
	json_object_object_add(o, "primary_event", json_object_new_string(r->primary_event));
	json_object_object_add(o, "unknown_flag", json_object_new_boolean(r->unknown_flag));
	json_object_object_add(o, "severity", json_object_new_int(r->severity));
	add_number(o, "confidence", r->has_confidence, r->confidence);
	add_number(o, "blur_score", r->has_blur, r->blur_score);
	if (r->has_count)
		json_object_object_add(o, "count_hint", json_object_new_int(r->count_hint));
	json_object_object_add(o, "tags", tags);
	json_object_object_add(o, "retention_class", json_object_new_string(keep.class));
	json_object_object_add(o, "retention_reason", json_object_new_string(keep.reason));
	json_object_object_add(
	    o, "best_score", json_object_new_double(best_frame_score(r->severity, r->confidence, r->blur_score)));
	json_object_object_add(o, "suggest_score", json_object_new_int(suggest.score));
	json_object_object_add(o, "hazard", json_object_new_boolean(suggest.hazard));
	json_object_object_add(o, "archive", json_object_new_boolean(j->d->conf.archive_driver != ARCHIVE_NONE));
	json_object_object_add(o, "escalate", json_object_new_boolean(r->unknown_flag && escalate_possible(j->d)));
	if (rule != NULL)
		json_object_object_add(o, "notify_rule", json_object_new_string(rule));
	if (j->permit[0] != '\0')
		json_object_object_add(o, "permit", json_object_new_string(j->permit));
	return o;
}

/* --- the specification's error table */

static void send_image(struct job *j, const char *base_url, const char *path, bool http2);

/* The call came to nothing at this node, which has been told so: another may do it at once, or the job waits. survived:
 * the node answered; an image that may have killed it is not tried on all the others in one go. */
static void fail_or_go_elsewhere(
    struct job *j, enum call_end end, bool survived, const char *error, int64_t at_least_ms)
{
	struct router *r = j->d->router;

	if (j->route.n_tried > 0 && router_choose(r, analyze_model(j->d), &j->route, clock_ms()) == ROUTE_OK) {
		if (router_may_retry(r, end, survived)) {
			log_debug("job %lld: %s; now at %s", (long long)j->id, error, j->route.name);
			send_image(j, j->route.base_url, "/v1/analyze", j->route.http2);
			return;
		}
		router_drop(r, &j->route);
	}
	job_fail_backoff(j, error, at_least_ms);
}

static void succeed(struct job *j, const struct http_answer *a)
{
	struct is21_result r;
	char error[ERROR_MAX];
	struct err e;

	if (is21_parse(a->body, a->len, &r, &e) < 0) {
		snprintf(error, sizeof error, "the node's answer cannot be used: %.300s", e.msg);
		job_call_ended(j, CALL_FAULTY, 0, error);
		fail_or_go_elsewhere(j, CALL_FAULTY, true, error, 0);
		return;
	}
	job_call_ended(j, CALL_WORKED, 0, "");
	node_worked(&j->d->analyze.trouble);
	commit_result(j->d, result_item(j, &r));
	is21_free(&r);
	job_free(j);
}

static enum call_end end_of(const struct http_answer *a)
{
	if (a->status == 0)
		return a->connected ? CALL_FAULTY : CALL_UNREACHABLE;
	if (a->status == 429 || a->status == 503)
		return CALL_BUSY;
	return a->status == 400 || a->status == 409 ? CALL_WORKED : CALL_FAULTY;
}

static void answered(void *arg, const struct http_answer *a)
{
	struct job *j = arg;
	struct dispatcher *d = j->d;
	char error[ERROR_MAX], current[IS21_SCHEMA_VERSION_MAX + 1];
	int64_t asked = (int64_t)a->retry_after_sec * 1000;
	enum call_end end = end_of(a);

	j->transfer = NULL;
	metrics_add(d->metrics, METRIC_NODE_REQUESTS);
	metrics_add_n(d->metrics, METRIC_NODE_CONNECTIONS, (uint64_t)a->new_connections);
	if (a->status == 200) {
		succeed(j, a);
		return;
	}
	if (a->status == 0)
		snprintf(error, sizeof error, "%s", a->fault);
	else
		snprintf(
		    error, sizeof error, "status %ld: %.*s", a->status, (int)(a->len < 300 ? a->len : 300), a->body);
	job_call_ended(j, end, (long)asked, error);
	switch (a->status) {
	case 400: /* the image is at fault, and will be the next time */
		job_fail(j, error, 0, true, false);
		break;
	case 409:
		is21_mismatch(a->body, a->len, current);
		schema_push_wanted(d, j->base_url, current);
		job_fail(j, "the node is being told its schema", SCHEMA_RETRY_MS, false, true);
		break;
	default:
		fail_or_go_elsewhere(j, end, a->status != 0, error, asked);
	}
}

/* --- the call */

static void send_image(struct job *j, const char *base_url, const char *path, bool http2)
{
	char url[URL_MAX], id[24];
	const struct http_part form[] = {
	    {.name = "camera_id", .text = j->camera_id},
	    {.name = "captured_at", .text = j->captured_at},
	    {.name = "schema_version", .text = j->d->conf.schema_version},
	    {.name = "request_id", .text = id},
	    {.name = "infer_image",
		.data = j->picture.data,
		.len = j->picture.len,
		.file_name = "frame.jpg",
		.type = "image/jpeg"},
	    {.name = NULL},
	};

	snprintf(j->base_url, sizeof j->base_url, "%s", base_url);
	snprintf(url, sizeof url, "%s%s", base_url, path);
	snprintf(id, sizeof id, "%lld", (long long)j->id);
	j->transfer = http_start(j->d->http,
	    &(struct http_request){.method = "POST",
		.url = url,
		.timeout_ms = ANALYZE_TIMEOUT_MS,
		.form = form,
		.http2 = http2,
		.answer_max = IS21_ANSWER_MAX},
	    answered, j);
	if (j->transfer == NULL)
		job_fail(j, "out of memory", POLL_MS, false, true);
}

static void begin_sending(struct job *j)
{
	j->state = JOB_SENDING;
	j->d->analyze.lane.sending++;
}

/* False: no node takes it now. */
static bool send_to_node(struct job *j, int64_t now)
{
	if (router_choose(j->d->router, analyze_model(j->d), &j->route, now) != ROUTE_OK)
		return false;
	metrics_add(j->d->metrics, METRIC_CACHE_HITS); /* no question was needed where to */
	begin_sending(j);
	send_image(j, j->route.base_url, "/v1/analyze", j->route.http2);
	return true;
}

static bool has_workers(const struct dispatcher *d)
{
	for (const struct job *j = d->analyze.lane.jobs; j != NULL; j = j->next)
		if (j->worker != NULL)
			return true;
	return false;
}

static void worker_there(void *arg, const struct pool_answer *a)
{
	struct job *j = arg;
	struct node_state *trouble = &j->d->analyze.trouble;

	j->waiting = NULL;
	j->worker = a->lease;
	if (a->lease != NULL) {
		send_image(j, a->base_url, a->url + strlen(a->base_url), false);
		return;
	}
	/* A pool that is only full gives back what we have of it, and then goes on. */
	if (!has_workers(j->d)) {
		if (node_open(trouble, clock_ms()))
			log_warning("pool %s: %s: %s", j->d->analyze.pool, a->error_code, a->reason);
		node_failed(trouble, NODE_BUSY, job_pool_pause_ms(a), clock_ms(), (uint32_t)random());
	}
	job_fail_refused(j, a);
}

static void ask_for_worker(struct job *j)
{
	begin_sending(j);
	j->waiting = pool_acquire(j->d->pools, j->d->analyze.pool, worker_there, j);
	if (j->waiting == NULL)
		job_fail(j, "out of memory", POLL_MS, false, true);
}

/* --- images */

static void image_read(struct task *task)
{
	struct job *j = JOB_OF_PICTURE(task);
	int fault = j->picture.fault;
	char error[ERROR_MAX];

	j->state = JOB_READY;
	if (fault == 0)
		return;
	snprintf(error, sizeof error, "the image cannot be read from the spool: %s", strerror(fault));
	if (fault == ENOENT || fault == EFBIG || fault == ENODATA || fault == ELOOP)
		job_fail(j, error, 0, true, false); /* will not get better */
	else
		job_fail_backoff(j, error, 0);
}

/* --- claims */

static void begin(struct dispatcher *d, PGresult *result, int row)
{
	struct job *j = job_new(d, &d->analyze.lane, result, row, PERMIT_COLUMN);

	if (j == NULL)
		return;
	d->analyze.limited = j->permit[0] != '\0';
	if (d->stopping) {
		j->state = JOB_READY;
		job_fail(j, "given back: the dispatcher stops", 0, false, true);
	} else if (spool_path(d->conf.spool_dir, j->frame_uuid, j->path, sizeof j->path) < 0) {
		j->state = JOB_READY;
		job_fail(j, "the job has no frame", 0, true, false);
	} else {
		j->picture = (struct picture){.path = j->path, .max = FRAME_BYTES_MAX};
		picture_read(d->tasks, &j->picture, image_read);
	}
}

static void claimed(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	int jobs = 0;

	d->analyze.claiming = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		if (result != NULL)
			log_error("no claim: %s", error);
		return;
	}
	d->analyze.in_line = false;
	for (int i = 0; i < PQntuples(result); i++) {
		if (!PQgetisnull(result, i, 0)) {
			begin(d, result, i);
			jobs++;
			d->analyze.due = 0; /* there may be more */
			continue;
		}
		/* The last row: there are more than there are permits for. */
		d->analyze.limited = d->analyze.in_line = true;
		d->analyze.due =
		    d->analyze.again ? 0 : clock_ms() + strtol(PQgetvalue(result, i, WAIT_COLUMN), NULL, 10);
	}
	d->analyze.again = false;
	d->analyze.awake = jobs > 0;
	metrics_add_n(d->metrics, METRIC_JOBS_CLAIMED, (uint64_t)jobs);
}

/* calls: at most so many if they need permits, since who holds one should be about to call. */
static void submit_claim(struct dispatcher *d, size_t n, size_t calls)
{
	char n_text[24], calls_text[24];

	snprintf(n_text, sizeof n_text, "%zu", n);
	snprintf(calls_text, sizeof calls_text, "%zu", calls);
	d->analyze.claiming =
	    dbq_submit(d->db, "SELECT * FROM camserver.job_claim('analyze', $1, $2, $3, $4, $5)", 5,
		(const char *[]){d->id, n_text, analyze_model(d), calls_text, d->analyze.awake ? "t" : "f"}, claimed,
		d) == 0;
}

/* Twice as many as may be sent at once, so that images are at hand; not one by one, but when half is used up. Results
 * on their way to the database count only when they pile up. Under limits, what may be sent. */
static void claim(struct dispatcher *d, int64_t now)
{
	size_t max = 2 * d->analyze.lane.inflight_max, pending = commit_pending(d);
	size_t held = d->analyze.lane.held + (pending > max ? pending - max : 0);
	size_t calls = d->analyze.lane.held < d->analyze.lane.inflight_max
			   ? d->analyze.lane.inflight_max - d->analyze.lane.held
			   : 0;

	if (d->analyze.claiming || now < d->analyze.due || (d->analyze.limited ? calls == 0 : held > max * 3 / 4))
		return;
	d->analyze.due = now + POLL_MS;
	submit_claim(d, d->analyze.limited ? calls : max - held, calls);
}

/* Every job that is not yet sent, back into the queue; its attempt does not count. */
static void give_back_unsent(struct dispatcher *d, const char *why, int64_t delay_ms)
{
	for (struct job *j = d->analyze.lane.jobs, *next; j != NULL; j = next) {
		next = j->next;
		if (j->state == JOB_READY)
			job_fail(j, why, delay_ms, false, true);
	}
}

/* Whether there are more than one turn of the loop sends. */
static bool send_ready(struct dispatcher *d, int64_t now)
{
	size_t sent = 0;

	for (struct job *j = d->analyze.lane.jobs, *next;
	     j != NULL && d->analyze.lane.sending < d->analyze.lane.inflight_max; j = next) {
		next = j->next;
		if (j->state != JOB_READY)
			continue;
		if (sent++ == SENDS_PER_TURN)
			return true;
		if (d->analyze.pool[0] != '\0')
			ask_for_worker(j);
		else if (!send_to_node(j, now))
			break;
	}
	return false;
}

/* Whether calls can be made: nodes can be reached, or the pool has workers. Otherwise ret_wait_ms says when to look
 * again, and ret_full that it is only a matter of room. */
static bool is_open(struct dispatcher *d, int64_t now, long *ret_wait_ms, bool *ret_full)
{
	enum route_found found = ROUTE_OK;

	*ret_full = false;
	if (!node_open(&d->analyze.trouble, now)) {
		*ret_wait_ms = (long)(d->analyze.trouble.resume_at - now);
		return false;
	}
	if (d->analyze.pool[0] == '\0')
		found = router_look(d->router, analyze_model(d), ret_wait_ms, now);
	if (found == ROUTE_UNKNOWN) {
		router_client_want(d->router_client, analyze_model(d), now);
		*ret_wait_ms = POLL_MS;
		*ret_full = true; /* for all that is known */
		return false;
	}
	*ret_full = found == ROUTE_FULL && d->analyze.lane.sending > 0;
	if ((found == ROUTE_DOWN || found == ROUTE_NONE) != d->analyze.away) {
		d->analyze.away = !d->analyze.away;
		if (d->analyze.away)
			log_warning(
			    "no node of %s %s", analyze_model(d), found == ROUTE_NONE ? "is known" : "can be reached");
		else
			log_info("there are nodes of %s again", analyze_model(d));
	}
	return found == ROUTE_OK;
}

int64_t analyze_tick(struct dispatcher *d, int64_t now)
{
	int64_t next = now + POLL_MS;
	long wait_ms = 0;
	bool full, more;

	if (d->stopping) {
		give_back_unsent(d, "given back: the dispatcher stops", 0);
		return next;
	}
	if (dbq_notified(d->ear)) {
		d->analyze.due = 0;
		d->analyze.again = d->analyze.claiming;
		if (d->followups.in_line)
			d->followups.due = 0;
	}
	if (!is_open(d, now, &wait_ms, &full)) {
		/* Nobody waits here for a node that does not answer: another dispatcher may reach it, or another day.
		 */
		if (!full && d->analyze.lane.held > d->analyze.lane.sending)
			give_back_unsent(
			    d, "given back: the node is not available", wait_ms > 0 ? wait_ms : SCHEMA_RETRY_MS);
		if (!full && d->analyze.in_line && !d->analyze.claiming && dbq_connected(d->db))
			submit_claim(d, 0, 0); /* gives up the place */
		return wait_ms > 0 && now + wait_ms < next ? now + wait_ms : next;
	}
	more = send_ready(d, now);
	if (d->membership.registered && dbq_connected(d->db) && d->analyze.push == NULL)
		claim(d, now);
	if (more)
		return now;
	return d->analyze.due > now && d->analyze.due < next ? d->analyze.due : next;
}

void analyze_abort(struct dispatcher *d)
{
	http_cancel(d->analyze.push);
	d->analyze.push = NULL;
	for (struct job *j = d->analyze.lane.jobs, *next; j != NULL; j = next) {
		next = j->next;
		if (j->state != JOB_SENDING)
			continue;
		http_cancel(j->transfer);
		job_fail(j, "given back: the dispatcher stops", 0, false, true);
	}
}
