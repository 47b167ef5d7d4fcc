/* SPDX-License-Identifier: Apache-2.0 */
#include "common/dbq.h"

#include "common/clock.h"
#include "common/db.h"
#include "common/statements.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_FIRST_MS = 250, RETRY_MAX_MS = 5000, CONNECT_MS = 5000 };

enum state { DOWN, CONNECTING, IDLE, BUSY };

struct call {
	struct call *next;
	const char *sql;
	dbq_done *done;
	void *arg;
	int n;
	char *params[DBQ_PARAMS_MAX];
};

struct dbq {
	const char *url;
	const char *application;
	int timeout_ms;
	enum state state;
	PGconn *conn;
	PGresult *result; /* BUSY: the last one of the answer so far */
	PostgresPollingStatusType polling;
	struct statements statements;
	enum statement_use use; /* BUSY: how the head was sent; PREPARE: it has not been sent itself yet */
	bool unsent;            /* BUSY: the output buffer is not yet empty */
	int64_t due;            /* DOWN: next try; CONNECTING, BUSY: give up */
	int64_t wait_ms;        /* DOWN: grows with every failure */
	const char *channels[DBQ_CHANNELS_MAX];
	size_t n_channels;
	bool notified;
	char listen[DBQ_CHANNELS_MAX][80];
	struct call *head, **tail;
	size_t length;
	struct err fault;
};

struct dbq *dbq_new(const char *url, const char *application, int timeout_ms)
{
	struct dbq *q = calloc(1, sizeof *q);

	if (q == NULL)
		return NULL;
	*q = (struct dbq){.url = url, .application = application, .timeout_ms = timeout_ms, .wait_ms = RETRY_FIRST_MS};
	q->tail = &q->head;
	return q;
}

static void call_free(struct call *c)
{
	for (int i = 0; i < c->n; i++)
		free(c->params[i]);
	free(c);
}

static struct call *take_head(struct dbq *q)
{
	struct call *c = q->head;

	q->head = c->next;
	if (q->head == NULL)
		q->tail = &q->head;
	q->length--;
	return c;
}

void dbq_free(struct dbq *q)
{
	if (q == NULL)
		return;
	while (q->head != NULL)
		call_free(take_head(q));
	PQclear(q->result);
	PQfinish(q->conn);
	free(q);
}

int dbq_submit(struct dbq *q, const char *sql, int n, const char *const *params, dbq_done *done, void *arg)
{
	struct call *c;

	if (q->length >= DBQ_LENGTH_MAX || n > DBQ_PARAMS_MAX || (c = calloc(1, sizeof *c)) == NULL)
		return -1;
	*c = (struct call){.sql = sql, .done = done, .arg = arg, .n = n};
	for (int i = 0; i < n; i++) {
		c->params[i] = params[i] != NULL ? strdup(params[i]) : NULL;
		if (params[i] != NULL && c->params[i] == NULL) {
			call_free(c);
			return -1;
		}
	}
	*q->tail = c;
	q->tail = &c->next;
	q->length++;
	return 0;
}

/* Everybody who waits hears that the database is away, and decides for himself. A call that a done function
 * submits meanwhile waits for the next step. */
static void refuse_waiting(struct dbq *q)
{
	for (size_t waiting = q->length; waiting > 0; waiting--) {
		struct call *c = take_head(q);

		c->done(c->arg, NULL, q->fault.msg);
		call_free(c);
	}
}

static void fail(struct dbq *q, int64_t now, const char *why)
{
	const char *detail = q->conn != NULL ? PQerrorMessage(q->conn) : "";

	err_set(&q->fault, "%s%s%s", why, *detail != '\0' ? ": " : "", detail);
	PQclear(q->result);
	q->result = NULL;
	PQfinish(q->conn);
	q->conn = NULL;
	q->state = DOWN;
	q->due = now + q->wait_ms;
	q->wait_ms = q->wait_ms * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : q->wait_ms * 2;
	refuse_waiting(q);
}

void dbq_give_up(struct dbq *q)
{
	fail(q, clock_ms(), "the connection is given up");
}

void dbq_rename(struct dbq *q, const char *url)
{
	q->url = url;
}

static void ignore_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

static void start_connecting(struct dbq *q, int64_t now)
{
	const char *names[DB_KEYWORDS_MAX], *values[DB_KEYWORDS_MAX];

	db_keywords(q->url, q->application, names, values);
	q->conn = PQconnectStartParams(names, values, 1);
	q->statements = (struct statements){0};
	q->state = CONNECTING;
	q->polling = PGRES_POLLING_WRITING;
	q->due = now + CONNECT_MS;
	if (q->conn == NULL || PQstatus(q->conn) == CONNECTION_BAD)
		fail(q, now, "cannot connect to the database");
}

static void listening(void *arg, PGresult *result, const char *error)
{
	struct dbq *q = arg;

	(void)result;
	(void)error;
	q->notified = true;
}

/* A channel's name cannot be a parameter; it is one of ours, not a user's. */
static void start_listening(struct dbq *q, int64_t now)
{
	for (size_t i = 0; i < q->n_channels; i++) {
		snprintf(q->listen[i], sizeof q->listen[i], "LISTEN %s", q->channels[i]);
		if (dbq_submit(q, q->listen[i], 0, NULL, listening, q) < 0) {
			fail(q, now, "out of memory");
			return;
		}
	}
}

static void take_notifications(struct dbq *q)
{
	PGnotify *n;

	while ((n = PQnotifies(q->conn)) != NULL) {
		q->notified = true;
		PQfreemem(n);
	}
}

static void go_on_connecting(struct dbq *q, int64_t now)
{
	struct pollfd p = {.fd = PQsocket(q->conn), .events = dbq_events(q)};

	if (now >= q->due) {
		fail(q, now, "no connection to the database in time");
		return;
	}
	if (poll(&p, 1, 0) <= 0)
		return;
	q->polling = PQconnectPoll(q->conn);
	if (q->polling == PGRES_POLLING_FAILED) {
		fail(q, now, "cannot connect to the database");
	} else if (q->polling == PGRES_POLLING_OK) {
		PQsetNoticeProcessor(q->conn, ignore_notice, NULL);
		q->state = IDLE;
		q->wait_ms = RETRY_FIRST_MS;
		if (PQsetnonblocking(q->conn, 1) != 0)
			fail(q, now, "cannot make the connection non-blocking");
		else
			start_listening(q, now);
	}
}

static void send_as(struct dbq *q, enum statement_use use, const char *name, int64_t now)
{
	const struct call *c = q->head;
	const char *const *params = (const char *const *)c->params;
	int sent = 0;

	switch (use) {
	case STATEMENT_PREPARE:
		sent = PQsendPrepare(q->conn, name, c->sql, 0, NULL);
		break;
	case STATEMENT_PREPARED:
		sent = PQsendQueryPrepared(q->conn, name, c->n, params, NULL, NULL, 0);
		break;
	case STATEMENT_PLAIN:
		sent = PQsendQueryParams(q->conn, c->sql, c->n, NULL, params, NULL, NULL, 0);
		break;
	}
	if (sent != 1) {
		fail(q, now, "the database connection broke");
		return;
	}
	q->state = BUSY;
	q->use = use;
	q->unsent = true;
	q->due = now + q->timeout_ms;
}

static void send_head(struct dbq *q, int64_t now)
{
	char name[STATEMENT_NAME_MAX];
	enum statement_use use = statements_use(&q->statements, q->head->sql, name);

	send_as(q, use, name, now);
}

/* Takes what has come of the answer; true at its end. The rows are sent before the commit, so only the end says that it
 * happened, and an error that comes after the rows is the answer. */
static bool take_results(struct dbq *q)
{
	while (!PQisBusy(q->conn)) {
		PGresult *next = PQgetResult(q->conn);

		if (next == NULL)
			return true;
		PQclear(q->result);
		q->result = next;
	}
	return false;
}

/* The answer is about preparing the head, or says that what was prepared is not there: the head is still to be sent. */
static bool is_unsent_still(struct dbq *q, int64_t now)
{
	char name[STATEMENT_NAME_MAX];
	PGresult *result = q->result;
	bool prepared = q->use == STATEMENT_PREPARE && statements_prepared(&q->statements, q->head->sql, result);

	if (q->use == STATEMENT_PLAIN || (q->use == STATEMENT_PREPARED && !statements_lost(&q->statements, result)))
		return false;
	q->result = NULL;
	PQclear(result);
	if (prepared)
		statements_use(&q->statements, q->head->sql, name);
	send_as(q, prepared ? STATEMENT_PREPARED : STATEMENT_PLAIN, name, now);
	return true;
}

static void finish_head(struct dbq *q)
{
	PGresult *result = q->result;
	struct call *c = take_head(q);

	q->result = NULL;
	q->state = IDLE;
	take_notifications(q); /* that came with the answer: nothing more may come that would make us look */
	c->done(c->arg, result, PQresultErrorMessage(result));
	PQclear(result);
	call_free(c);
}

static bool flush(struct dbq *q, int64_t now)
{
	int flushed = q->unsent ? PQflush(q->conn) : 0;

	if (flushed < 0)
		fail(q, now, "the database connection broke");
	else
		q->unsent = flushed > 0;
	return flushed >= 0;
}

static void go_on_talking(struct dbq *q, int64_t now)
{
	if (!flush(q, now))
		return;
	if (PQconsumeInput(q->conn) != 1) {
		fail(q, now, "the database connection broke");
	} else if (take_results(q) && PQstatus(q->conn) == CONNECTION_OK) {
		if (is_unsent_still(q, now))
			flush(q, now);
		else
			finish_head(q);
	} else if (now >= q->due || PQstatus(q->conn) != CONNECTION_OK) {
		fail(q, now, "the database does not answer");
	}
}

/* Idle, and yet something to read: a notice, a notification, or the end of the connection. */
static void look_idle(struct dbq *q, int64_t now)
{
	struct pollfd p = {.fd = PQsocket(q->conn), .events = POLLIN};

	if (poll(&p, 1, 0) <= 0)
		return;
	if (PQconsumeInput(q->conn) != 1 || PQstatus(q->conn) != CONNECTION_OK)
		fail(q, now, "the database closed the connection");
	else
		take_notifications(q);
}

void dbq_step(struct dbq *q, int64_t now)
{
	if (q->state == DOWN && now >= q->due)
		start_connecting(q, now);
	else if (q->state == DOWN && q->head != NULL)
		refuse_waiting(q);
	if (q->state == CONNECTING)
		go_on_connecting(q, now);
	if (q->state == IDLE)
		look_idle(q, now);
	if (q->state == BUSY)
		go_on_talking(q, now);
	while (q->state == IDLE && q->head != NULL) {
		send_head(q, now);
		if (q->state == BUSY)
			go_on_talking(q, now);
	}
}

int dbq_fd(const struct dbq *q)
{
	return q->conn != NULL ? PQsocket(q->conn) : -1;
}

short dbq_events(const struct dbq *q)
{
	if (q->state == CONNECTING)
		return q->polling == PGRES_POLLING_WRITING ? POLLOUT : POLLIN;
	return (short)(q->state == BUSY && q->unsent ? POLLIN | POLLOUT : POLLIN);
}

int64_t dbq_wake_at(const struct dbq *q)
{
	return q->state == IDLE ? (q->head != NULL ? 0 : INT64_MAX) : q->due;
}

void dbq_listen(struct dbq *q, const char *channel)
{
	if (q->n_channels < DBQ_CHANNELS_MAX)
		q->channels[q->n_channels++] = channel;
}

bool dbq_notified(struct dbq *q)
{
	bool notified = q->notified;

	q->notified = false;
	return notified;
}

bool dbq_connected(const struct dbq *q)
{
	return q->state == IDLE || q->state == BUSY;
}

bool dbq_idle(const struct dbq *q)
{
	return q->head == NULL;
}

const char *dbq_fault(const struct dbq *q)
{
	return q->fault.msg;
}
