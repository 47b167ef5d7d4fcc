/* SPDX-License-Identifier: Apache-2.0 */
#include "common/pool_client.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 1000, LIST_BYTES_MAX = 1024 * 1024, TOKEN_MAX = 24, LATE_MS = 5000, CHANNEL_MAX = 64 };

struct pool_wait {
	struct pool_wait *prev, *next;
	struct pool_client *client;
	pool_done *done; /* NULL: cancelled */
	void *arg;
	char ticket[UUID_TEXT_LEN + 1]; /* "": not yet answered */
	int64_t poll_at, give_up_at;
};

struct pool_lease {
	struct pool_lease *prev, *next;
	struct pool_client *client;
	char worker[UUID_TEXT_LEN + 1], token[TOKEN_MAX];
	bool returning, telling, evict;
	int64_t due;
	char reason[POOL_REASON_MAX];
};

struct pool_client {
	const struct conf *conf;
	struct dbq *db, *ear;
	const char *name;
	char id[UUID_TEXT_LEN + 1], channel[CHANNEL_MAX];
	struct pool_wait *waits;
	struct pool_lease *leases;
	bool polling, beating;
	int64_t beat_due;
};

struct pool_client *pool_client_new(const struct conf *conf, struct dbq *db, const char *name)
{
	struct pool_client *c = calloc(1, sizeof *c);
	char *out;

	if (c == NULL)
		return NULL;
	c->conf = conf;
	c->db = db;
	c->name = name;
	ident_new_uuid(c->id);
	strcpy(c->channel, "cam_holder_");
	out = c->channel + strlen(c->channel);
	for (const char *p = c->id; *p != '\0'; p++)
		if (*p != '-')
			*out++ = *p;
	*out = '\0';
	c->ear = dbq_new(conf->database_url, name, (int)conf->db_timeout_ms);
	if (c->ear == NULL) {
		free(c);
		return NULL;
	}
	dbq_listen(c->ear, c->channel);
	return c;
}

/* Both lists are doubly linked in the same way. */
#define LINK(head, item) \
	do { \
		(item)->next = (head); \
		if ((head) != NULL) \
			(head)->prev = (item); \
		(head) = (item); \
	} while (0)
#define UNLINK(head, item) \
	do { \
		if ((item)->prev != NULL) \
			(item)->prev->next = (item)->next; \
		else \
			(head) = (item)->next; \
		if ((item)->next != NULL) \
			(item)->next->prev = (item)->prev; \
	} while (0)

void pool_client_free(struct pool_client *c)
{
	if (c == NULL)
		return;
	while (c->waits != NULL) {
		struct pool_wait *w = c->waits;

		c->waits = w->next;
		free(w);
	}
	while (c->leases != NULL) {
		struct pool_lease *l = c->leases;

		c->leases = l->next;
		free(l);
	}
	dbq_free(c->ear);
	free(c);
}

struct dbq *pool_client_ear(struct pool_client *c)
{
	return c->ear;
}

bool pool_client_idle(const struct pool_client *c)
{
	return c->waits == NULL && c->leases == NULL;
}

static bool is_good(const PGresult *result)
{
	return result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
}

/* --- giving back */

static void returned(void *arg, PGresult *result, const char *error)
{
	struct pool_lease *l = arg;

	(void)error;
	l->telling = false;
	l->due = clock_ms() + RETRY_MS;
	if (is_good(result)) { /* or it was not ours any more, which is as good */
		UNLINK(l->client->leases, l);
		free(l);
	}
}

static void tell_return(struct pool_lease *l)
{
	struct pool_client *c = l->client;

	l->telling = dbq_submit(c->db,
			 l->evict ? "SELECT camserver.worker_evict($1, $2, $3, $4)"
				  : "SELECT camserver.worker_release($1, $2, $3)",
			 l->evict ? 4 : 3, (const char *[]){c->id, l->worker, l->token, l->reason}, returned, l) == 0;
	l->due = clock_ms() + RETRY_MS;
}

void pool_release(struct pool_lease *l)
{
	l->returning = true;
	tell_return(l);
}

void pool_evict(struct pool_lease *l, const char *reason)
{
	l->returning = l->evict = true;
	snprintf(l->reason, sizeof l->reason, "%s", reason);
	ident_clean(l->reason);
	tell_return(l);
}

/* --- getting */

static void ignore(void *arg, PGresult *result, const char *error)
{
	(void)arg;
	(void)result;
	(void)error; /* lost: the ticket ends by its deadline, a grant by the heartbeat that does not name it */
}

static void leave(struct pool_wait *w)
{
	struct pool_client *c = w->client;

	(void)dbq_submit(
	    c->db, "SELECT camserver.worker_leave($1, $2)", 2, (const char *[]){c->id, w->ticket}, ignore, c);
}

static void end_wait(struct pool_wait *w, const struct pool_answer *a)
{
	pool_done *done = w->done;
	void *arg = w->arg;

	UNLINK(w->client->waits, w);
	free(w);
	if (done != NULL)
		done(arg, a);
}

static void refuse(struct pool_wait *w, const char *code, const char *reason, long retry_after_sec)
{
	end_wait(w, &(struct pool_answer){.error_code = code, .reason = reason, .retry_after_sec = retry_after_sec});
}

static void take_grant(struct pool_wait *w, struct json_object *answer)
{
	struct pool_lease *l = calloc(1, sizeof *l);
	const char *worker = "", *base = "", *path = "";
	struct pool_answer a = {.lease = l};
	int64_t token = 0, waited = 0;
	char url[POOL_URL_MAX * 2];

	if (l == NULL) { /* the heartbeat, which does not name it, gives it back */
		refuse(w, "DB_UNAVAILABLE", "out of memory", 1);
		return;
	}
	(void)json_get_string(answer, "worker_id", &worker, NULL);
	(void)json_get_string(answer, "url", &base, NULL);
	(void)json_get_string(answer, "call_path", &path, NULL);
	(void)json_get_int64(answer, "token", &token, NULL);
	(void)json_get_int64(answer, "waited_ms", &waited, NULL);
	(void)json_get_bool(answer, "cold", &a.cold, NULL);
	snprintf(l->worker, sizeof l->worker, "%s", worker);
	snprintf(l->token, sizeof l->token, "%" PRId64, token);
	l->client = w->client;
	LINK(w->client->leases, l);
	snprintf(url, sizeof url, "%s%s", base, path);
	a.url = url;
	a.base_url = base;
	a.waited_ms = (long)waited;
	if (w->done == NULL)
		pool_release(l);
	end_wait(w, &a);
}

/* One answer of worker_acquire or worker_poll. */
static void take_answer(struct pool_wait *w, struct json_object *answer)
{
	const char *outcome = "", *code = "DB_UNAVAILABLE", *reason = "", *ticket = "";
	int64_t poll_ms = RETRY_MS, timeout_ms = 0, retry = 1;

	(void)json_get_string(answer, "outcome", &outcome, NULL);
	if (strcmp(outcome, "GRANTED") == 0) {
		take_grant(w, answer);
	} else if (strcmp(outcome, "WAITING") == 0) {
		(void)json_get_string(answer, "ticket", &ticket, NULL);
		(void)json_get_int64(answer, "poll_ms", &poll_ms, NULL);
		(void)json_get_int64(answer, "timeout_ms", &timeout_ms, NULL);
		snprintf(w->ticket, sizeof w->ticket, "%s", ticket);
		w->poll_at = clock_ms() + poll_ms;
		if (timeout_ms > 0)
			w->give_up_at = clock_ms() + timeout_ms + LATE_MS;
		if (w->done == NULL) {
			leave(w);
			refuse(w, code, reason, retry);
		}
	} else {
		(void)json_get_string(answer, "error_code", &code, NULL);
		(void)json_get_string(answer, "reason", &reason, NULL);
		(void)json_get_int64(answer, "retry_after", &retry, NULL);
		refuse(w, code, reason, (long)retry);
	}
}

static void acquired(void *arg, PGresult *result, const char *error)
{
	struct pool_wait *w = arg;
	struct json_object *answer;

	if (!is_good(result)) {
		refuse(w, "DB_UNAVAILABLE", error, 2);
		return;
	}
	answer = json_tokener_parse(PQgetvalue(result, 0, 0));
	take_answer(w, answer);
	json_object_put(answer);
}

struct pool_wait *pool_acquire(struct pool_client *c, const char *pool, pool_done *done, void *arg)
{
	struct pool_wait *w = calloc(1, sizeof *w);
	char timeout[24];

	if (w == NULL)
		return NULL;
	w->client = c;
	w->done = done;
	w->arg = arg;
	snprintf(timeout, sizeof timeout, "%ld", c->conf->pool_acquire_timeout_ms);
	if (dbq_submit(c->db, "SELECT camserver.worker_acquire($1, $2, $3::integer)", 3,
		(const char *[]){pool, c->id, timeout}, acquired, w) < 0) {
		free(w);
		return NULL;
	}
	LINK(c->waits, w);
	return w;
}

void pool_cancel(struct pool_wait *w)
{
	w->done = NULL;
	if (w->ticket[0] == '\0')
		return; /* its answer, which is on the way, is dealt with then */
	leave(w);
	refuse(w, "", "", 0);
}

/* --- waiting */

static struct pool_wait *find_wait(struct pool_client *c, const char *ticket)
{
	for (struct pool_wait *w = c->waits; w != NULL; w = w->next)
		if (strcmp(w->ticket, ticket) == 0)
			return w;
	return NULL;
}

static void polled(void *arg, PGresult *result, const char *error)
{
	struct pool_client *c = arg;
	struct json_object *list;

	(void)error;
	c->polling = false;
	if (!is_good(result))
		return;
	list = json_tokener_parse(PQgetvalue(result, 0, 0));
	for (size_t i = 0; json_object_is_type(list, json_type_array) && i < json_object_array_length(list); i++) {
		struct json_object *answer = json_object_array_get_idx(list, i);
		const char *ticket = "-";
		struct pool_wait *w;

		(void)json_get_string(answer, "ticket", &ticket, NULL);
		w = find_wait(c, ticket);
		if (w != NULL)
			take_answer(w, answer);
	}
	json_object_put(list);
}

/* Asks for all who wait in one statement, when one is due or something was heard. */
static int64_t poll_waits(struct pool_client *c, int64_t now)
{
	bool due = dbq_notified(c->ear);
	int64_t until = INT64_MAX;
	struct buf tickets;

	buf_init(&tickets, LIST_BYTES_MAX);
	for (struct pool_wait *w = c->waits, *next; w != NULL; w = next) {
		next = w->next;
		if (w->ticket[0] == '\0')
			continue;
		if (now >= w->give_up_at) {
			refuse(w, "DB_UNAVAILABLE", "the database does not answer", 2);
			continue;
		}
		due = due || now >= w->poll_at;
		until = w->poll_at < until ? w->poll_at : until;
		buf_printf(&tickets, "%s%s", tickets.len > 0 ? "," : "{", w->ticket);
	}
	buf_printf(&tickets, "}");
	if (due && !c->polling && tickets.len > 1 && !tickets.failed) {
		for (struct pool_wait *w = c->waits; w != NULL; w = w->next)
			w->poll_at = now + RETRY_MS;
		c->polling = dbq_submit(c->db, "SELECT camserver.worker_poll($1, $2::uuid[])", 2,
				 (const char *[]){c->id, tickets.data}, polled, c) == 0;
	}
	if (c->polling) /* its answer comes by itself */
		until = now + RETRY_MS;
	buf_free(&tickets);
	return until;
}

static void beaten(void *arg, PGresult *result, const char *error)
{
	struct pool_client *c = arg;

	(void)error;
	c->beating = false;
	if (!is_good(result))
		c->beat_due = clock_ms() + RETRY_MS;
}

static void heartbeat(struct pool_client *c, int64_t now)
{
	struct buf list;
	char interval[32];

	buf_init(&list, LIST_BYTES_MAX);
	buf_printf(&list, "[");
	for (const struct pool_lease *l = c->leases; l != NULL; l = l->next)
		buf_printf(
		    &list, "%s{\"worker_id\":\"%s\",\"token\":%s}", list.len > 1 ? "," : "", l->worker, l->token);
	buf_printf(&list, "]");
	snprintf(interval, sizeof interval, "%.3f", (double)c->conf->heartbeat_interval_ms / 1000);
	if (!list.failed)
		c->beating = dbq_submit(c->db, "SELECT camserver.worker_heartbeat($1, $2, $3::numeric, $4::jsonb)", 4,
				 (const char *[]){c->id, c->name, interval, list.data}, beaten, c) == 0;
	c->beat_due = now + (c->conf->heartbeat_interval_ms > 0 ? c->conf->heartbeat_interval_ms : RETRY_MS);
	buf_free(&list);
}

int64_t pool_client_tick(struct pool_client *c, int64_t now)
{
	int64_t until;

	dbq_step(c->ear, now);
	if (!c->beating && now >= c->beat_due && dbq_connected(c->db))
		heartbeat(c, now);
	until = poll_waits(c, now);
	for (struct pool_lease *l = c->leases; l != NULL; l = l->next) {
		if (!l->returning || l->telling)
			continue;
		if (now >= l->due && dbq_connected(c->db))
			tell_return(l);
		until = l->due < until ? l->due : until;
	}
	if (!dbq_connected(c->db))
		return now + RETRY_MS;
	return c->beat_due < until ? c->beat_due : until;
}
