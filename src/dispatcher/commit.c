/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/commit.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"

#include <string.h>

enum { BATCH_MAX = 100, RETRY_MS = 500 };

static void add(struct outbox *box, struct json_object *item)
{
	if (box->waiting == NULL)
		box->waiting = json_object_new_array();
	json_object_array_add(box->waiting, item);
}

void commit_result(struct dispatcher *d, struct json_object *item)
{
	add(&d->results, item);
}

void commit_followup(struct dispatcher *d, struct json_object *item)
{
	add(&d->followup_results, item);
}

void commit_failure(struct dispatcher *d, const struct commit_failure *f)
{
	struct json_object *item = json_object_new_object();

	json_object_object_add(item, "job_id", json_object_new_int64(f->job_id));
	json_object_object_add(item, "token", json_object_new_int64(f->token));
	json_object_object_add(item, "error", json_object_new_string(f->error));
	json_object_object_add(item, "delay_ms", json_object_new_int64(f->delay_ms));
	json_object_object_add(item, "final", json_object_new_boolean(f->final));
	json_object_object_add(item, "refund", json_object_new_boolean(f->refund));
	if (f->permit != NULL && *f->permit != '\0')
		json_object_object_add(item, "permit", json_object_new_string(f->permit));
	add(&d->failures, item);
}

static size_t length(const struct json_object *array)
{
	return array != NULL ? json_object_array_length(array) : 0;
}

static size_t pending(const struct outbox *box)
{
	return length(box->waiting) + length(box->sent);
}

size_t commit_pending(const struct dispatcher *d)
{
	return pending(&d->results) + pending(&d->followup_results) + pending(&d->failures);
}

static void add_permits(struct buf *out, struct json_object *items)
{
	for (size_t i = 0; i < length(items); i++) {
		const char *permit = NULL;

		(void)json_get_string(json_object_array_get_idx(items, i), "permit", &permit, NULL);
		if (permit != NULL)
			buf_printf(out, ",%s", permit);
	}
}

void commit_permits(const struct dispatcher *d, struct buf *out)
{
	const struct outbox *const boxes[] = {&d->results, &d->followup_results, &d->failures};

	for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
		add_permits(out, boxes[i]->waiting);
		add_permits(out, boxes[i]->sent);
	}
}

static void box_free(struct outbox *box)
{
	json_object_put(box->waiting);
	json_object_put(box->sent);
	*box = (struct outbox){0};
}

void commit_free(struct dispatcher *d)
{
	box_free(&d->results);
	box_free(&d->followup_results);
	box_free(&d->failures);
}

/* Moves up to n from the front of one array to the end of another. */
static struct json_object *take_front(struct json_object **from, size_t n)
{
	struct json_object *taken = json_object_new_array();

	if (n > length(*from))
		n = length(*from);
	for (size_t i = 0; i < n; i++)
		json_object_array_add(taken, json_object_get(json_object_array_get_idx(*from, i)));
	json_object_array_del_idx(*from, 0, n);
	return taken;
}

/* What was sent goes back to the front. */
static void put_back(struct outbox *box)
{
	struct json_object *rest = box->waiting;

	box->waiting = box->sent;
	box->sent = NULL;
	for (size_t i = 0; i < length(rest); i++)
		json_object_array_add(box->waiting, json_object_get(json_object_array_get_idx(rest, i)));
	json_object_put(rest);
}

/* What the answer has under the name; 0 if nothing. */
static int64_t number(const char *json, const char *name)
{
	struct json_object *answer = json_tokener_parse(json);
	int64_t n = 0;

	if (answer != NULL)
		(void)json_get_int64(answer, name, &n, NULL);
	json_object_put(answer);
	return n;
}

static void count(struct dispatcher *d, const char *json, const char *name, enum metric metric)
{
	int64_t n = number(json, name);

	metrics_add_n(d->metrics, metric, (uint64_t)n);
	if (n > 0 && metric == METRIC_FENCED_WRITES)
		log_warning("%lld writes were refused: the jobs had been given to somebody else", (long long)n);
}

enum fate { WRITTEN, AGAIN, REFUSED };

/* Deadlock, out of resources, shutting down: the same statement may succeed in a moment. */
static bool is_passing(const PGresult *result)
{
	static const char *const classes[] = {"40", "53", "55", "57", "58", "08"};
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	for (size_t i = 0; state != NULL && i < sizeof classes / sizeof *classes; i++)
		if (strncmp(state, classes[i], 2) == 0)
			return true;
	return false;
}

/* What became of the batch that was sent. Unless it is written it waits again at the front: whole if the database was
 * away or busy (it may be written after all, and is fenced off then), one by one if it will not have it. REFUSED:
 * the first of those waiting is the one that it will not have. */
static enum fate settle(struct outbox *box, PGresult *result)
{
	size_t n = length(box->sent);

	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK) {
		json_object_put(box->sent);
		box->sent = NULL;
		return WRITTEN;
	}
	put_back(box);
	if (result == NULL || is_passing(result)) {
		box->due = clock_ms() + RETRY_MS;
		return AGAIN;
	}
	if (n == 1)
		return REFUSED;
	box->singles = n;
	return AGAIN;
}

/* The element that the database will not have: its job fails with the database's words. */
static void refuse_first(struct dispatcher *d, struct outbox *box, const char *error)
{
	struct commit_failure f = {.error = error, .delay_ms = RETRY_MS};
	struct json_object *bad = json_object_array_get_idx(box->waiting, 0);

	(void)json_get_int64(bad, "job_id", &f.job_id, NULL);
	(void)json_get_int64(bad, "token", &f.token, NULL);
	(void)json_get_string(bad, "permit", &f.permit, NULL);
	log_error("job %lld: the result cannot be stored: %s", (long long)f.job_id, error);
	commit_failure(d, &f);
	json_object_array_del_idx(box->waiting, 0, 1);
}

/* Something was written; with it permits may have become free, and be the next job's. */
static void claim_again(struct dispatcher *d)
{
	if (d->analyze.limited)
		d->analyze.due = 0;
	d->followups.due = 0;
}

static void box_written(struct dispatcher *d, struct outbox *box, PGresult *result, const char *error)
{
	switch (settle(box, result)) {
	case WRITTEN:
		if (box == &d->results)
			count(d, PQgetvalue(result, 0, 0), "done", METRIC_JOBS_DONE);
		count(d, PQgetvalue(result, 0, 0), "archive", METRIC_JOBS_DONE_ARCHIVE);
		count(d, PQgetvalue(result, 0, 0), "notify", METRIC_JOBS_DONE_NOTIFY);
		count(d, PQgetvalue(result, 0, 0), "escalate", METRIC_JOBS_DONE_ESCALATE);
		count(d, PQgetvalue(result, 0, 0), "fenced", METRIC_FENCED_WRITES);
		/* After an analysis there is something to do only if it says so. */
		if (box != &d->results || d->analyze.limited || number(PQgetvalue(result, 0, 0), "followups") > 0)
			claim_again(d);
		break;
	case AGAIN:
		log_warning("results not written yet: %s", error);
		break;
	case REFUSED:
		metrics_add(d->metrics, METRIC_DB_ERRORS);
		refuse_first(d, box, error);
		break;
	}
}

static void results_written(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	box_written(d, &d->results, result, error);
}

static void followups_written(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	box_written(d, &d->followup_results, result, error);
}

static void failures_written(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	switch (settle(&d->failures, result)) {
	case WRITTEN:
		count(d, PQgetvalue(result, 0, 0), "waiting", METRIC_JOBS_RETRIED);
		count(d, PQgetvalue(result, 0, 0), "dead", METRIC_JOBS_DEAD);
		count(d, PQgetvalue(result, 0, 0), "fenced", METRIC_FENCED_WRITES);
		if (d->analyze.in_line || d->followups.in_line)
			claim_again(d);
		break;
	case AGAIN:
		log_warning("failures not written yet: %s", error);
		break;
	case REFUSED:
		metrics_add(d->metrics, METRIC_DB_ERRORS);
		log_error("a failure cannot be stored and is left to the rescue: %s", error);
		json_object_array_del_idx(d->failures.waiting, 0, 1);
		break;
	}
}

static void send(struct dispatcher *d, struct outbox *box, int64_t now, const char *sql, dbq_done *done)
{
	const char *text;

	if (length(box->waiting) == 0 || box->sent != NULL || now < box->due)
		return;
	box->sent = take_front(&box->waiting, box->singles > 0 ? 1 : BATCH_MAX);
	if (box->singles > 0)
		box->singles--;
	text = json_object_to_json_string_ext(box->sent, JSON_C_TO_STRING_PLAIN);
	if (dbq_submit(d->db, sql, 2, (const char *[]){d->id, text}, done, d) < 0)
		put_back(box);
}

int64_t commit_tick(struct dispatcher *d, int64_t now)
{
	if (!dbq_connected(d->db))
		return now + RETRY_MS;
	send(d, &d->results, now, "SELECT camserver.analysis_complete($1, $2)", results_written);
	send(d, &d->followup_results, now, "SELECT camserver.followup_complete($1, $2)", followups_written);
	send(d, &d->failures, now, "SELECT camserver.job_fail($1, $2)", failures_written);
	return commit_pending(d) > 0 ? now + RETRY_MS : INT64_MAX;
}
