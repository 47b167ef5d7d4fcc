/* SPDX-License-Identifier: Apache-2.0 */
#include "common/db.h"

#include "common/clock.h"
#include "common/statements.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RETRY_MS = 250 }; /* after a failed connect, calls fail at once for so long */

struct db {
	const char *url;
	const char *application;
	int timeout_ms;
	PGconn *conn;
	bool was_connected, plain;
	int64_t retry_at;
	unsigned long reconnects;
	struct statements statements;
	char sqlstate[DB_SQLSTATE_LEN + 1];
	struct err last;
};

void db_keywords(
    const char *url, const char *application, const char *names[DB_KEYWORDS_MAX], const char *values[DB_KEYWORDS_MAX])
{
	/* dbname comes last: with expand_dbname the URL in it overrides what stands before it. */
	static const struct {
		const char *name, *value;
	} fixed[] = {{"connect_timeout", "2"}, {"keepalives_idle", "30"}, {"keepalives_interval", "10"},
	    {"keepalives_count", "3"}, {"tcp_user_timeout", "10000"}, {"client_encoding", "UTF8"}};
	int n = 0;

	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++, n++) {
		names[n] = fixed[i].name;
		values[n] = fixed[i].value;
	}
	names[n] = "application_name";
	values[n++] = application;
	names[n] = "dbname";
	values[n++] = url;
	names[n] = values[n] = NULL;
}

struct db *db_new(const char *url, const char *application, int timeout_ms)
{
	struct db *db = calloc(1, sizeof *db);

	if (db != NULL)
		*db = (struct db){.url = url, .application = application, .timeout_ms = timeout_ms};
	return db;
}

static void drop(struct db *db)
{
	PQfinish(db->conn);
	db->conn = NULL;
	db->statements = (struct statements){0};
}

void db_free(struct db *db)
{
	if (db == NULL)
		return;
	drop(db);
	free(db);
}

void db_speak_plainly(struct db *db)
{
	db->plain = true;
}

static void ignore_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

/* An idle connection that the server closed shows as readable: better noticed now than by a failed request. */
static bool still_open(struct db *db)
{
	struct pollfd p = {.fd = PQsocket(db->conn), .events = POLLIN};

	if (PQstatus(db->conn) != CONNECTION_OK)
		return false;
	/* A notice may be there to read, or the last words of a server that then hung up: read until nothing comes. */
	while (poll(&p, 1, 0) > 0)
		if (PQconsumeInput(db->conn) != 1 || PQstatus(db->conn) != CONNECTION_OK)
			return false;
	return true;
}

enum db_status db_connect(struct db *db, struct err *e)
{
	const char *names[DB_KEYWORDS_MAX], *values[DB_KEYWORDS_MAX];

	if (db->conn != NULL && still_open(db))
		return DB_OK;
	drop(db);
	if (clock_ms() < db->retry_at) {
		err_set(e, "%s", db->last.msg);
		return DB_DOWN;
	}
	db_keywords(db->url, db->application, names, values);
	db->conn = PQconnectdbParams(names, values, 1);
	if (PQstatus(db->conn) != CONNECTION_OK) {
		err_set(&db->last, "cannot connect to the database: %s", PQerrorMessage(db->conn));
		err_set(e, "%s", db->last.msg);
		drop(db);
		db->retry_at = clock_ms() + RETRY_MS;
		return DB_DOWN;
	}
	PQsetNoticeProcessor(db->conn, ignore_notice, NULL);
	if (db->was_connected)
		db->reconnects++;
	db->was_connected = true;
	return DB_OK;
}

/* Waits until a whole result is there or the deadline passes. */
static int await(struct db *db, int64_t deadline)
{
	while (PQisBusy(db->conn)) {
		struct pollfd p = {.fd = PQsocket(db->conn), .events = POLLIN};
		int64_t left = deadline - clock_ms();
		int n = left <= 0 ? 0 : poll(&p, 1, (int)left);

		if (n == 0)
			return -1;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || PQconsumeInput(db->conn) != 1)
			return -1;
	}
	return 0;
}

/* The rows are sent before the commit: only the end of the answer says that it happened, and an error that comes after
 * the rows is the answer. NULL when the end does not come. */
static PGresult *take_result(struct db *db, int64_t deadline)
{
	PGresult *result = NULL, *next;

	for (;;) {
		if (await(db, deadline) < 0) {
			PQclear(result);
			return NULL;
		}
		next = PQgetResult(db->conn);
		if (next == NULL)
			return result;
		PQclear(result);
		result = next;
	}
}

static enum db_status lost(struct db *db, const char *what, struct err *e)
{
	err_set(e, "%s: %s", what, *PQerrorMessage(db->conn) != '\0' ? PQerrorMessage(db->conn) : "no answer in time");
	drop(db);
	return DB_DOWN;
}

/* Class 57P (shutting down, starting up) and 08 are the server's way of being away; 25006 a standby's. */
static bool is_down(const char *sqlstate)
{
	return strncmp(sqlstate, "57P", 3) == 0 || strncmp(sqlstate, "08", 2) == 0 || strcmp(sqlstate, "25006") == 0;
}

static const char *field(const PGresult *result, int which)
{
	const char *text = PQresultErrorField(result, which);

	return text != NULL ? text : "";
}

/* Of the constraint pools_max_capacity_check of table pools: max_capacity. Empty if it is of several columns. */
static void checked_column(const PGresult *result, char *ret, size_t size)
{
	static const char suffix[] = "_check";
	const char *name = field(result, PG_DIAG_CONSTRAINT_NAME), *table = field(result, PG_DIAG_TABLE_NAME);
	size_t start = strlen(table) + 1, len = strlen(name);

	ret[0] = '\0';
	if (len > start + strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0)
		snprintf(ret, size, "%.*s", (int)(len - start - strlen(suffix)), name + start);
}

/* Data that is refused (22, 23), and what is not there (42704), in plain words; false for any other error. */
static bool tell_plainly(const char *sqlstate, const PGresult *result, struct err *e)
{
	char column[64];

	if (strncmp(sqlstate, "22", 2) != 0 && strncmp(sqlstate, "23", 2) != 0 && strcmp(sqlstate, "42704") != 0)
		return false;
	checked_column(result, column, sizeof column);
	if (strcmp(sqlstate, "23514") == 0 && column[0] != '\0')
		err_set(e, "%s: this value is not allowed", column);
	else if (strcmp(sqlstate, "23514") == 0)
		err_set(e, "these values do not go together");
	else if (strcmp(sqlstate, "23502") == 0)
		err_set(e, "%s: a value is needed", field(result, PG_DIAG_COLUMN_NAME));
	else
		err_set(e, "%s%s%s", field(result, PG_DIAG_MESSAGE_PRIMARY),
		    *field(result, PG_DIAG_MESSAGE_HINT) != '\0' ? "\n" : "", field(result, PG_DIAG_MESSAGE_HINT));
	return true;
}

static const char *state_of(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state != NULL ? state : "";
}

/* Sends the statement and takes its result; NULL if the connection broke or the time is over. */
static PGresult *run(struct db *db, const char *sql, int n, const char *const *params, int64_t deadline)
{
	char name[STATEMENT_NAME_MAX];
	enum statement_use use = statements_use(&db->statements, sql, name);
	PGresult *result;

	if (use == STATEMENT_PREPARE) {
		if (PQsendPrepare(db->conn, name, sql, 0, NULL) != 1)
			return NULL;
		result = take_result(db, deadline);
		if (result == NULL)
			return NULL;
		if (statements_prepared(&db->statements, sql, result))
			use = STATEMENT_PREPARED;
		PQclear(result);
	}
	if (use == STATEMENT_PREPARED) {
		if (PQsendQueryPrepared(db->conn, name, n, params, NULL, NULL, 0) != 1)
			return NULL;
		result = take_result(db, deadline);
		if (result == NULL || !statements_lost(&db->statements, result))
			return result;
		PQclear(result);
	}
	if (PQsendQueryParams(db->conn, sql, n, NULL, params, NULL, NULL, 0) != 1)
		return NULL;
	return take_result(db, deadline);
}

enum db_status db_query(struct db *db, const char *sql, int n, const char *const *params, PGresult **ret, struct err *e)
{
	int64_t deadline = clock_ms() + db->timeout_ms;
	enum db_status status = db_connect(db, e);
	PGresult *result;

	db->sqlstate[0] = '\0';
	if (status != DB_OK)
		return status;
	result = run(db, sql, n, params, deadline);
	if (result == NULL)
		return lost(db, "the database does not answer", e);
	if (PQstatus(db->conn) == CONNECTION_OK &&
	    (PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK)) {
		*ret = result;
		return DB_OK;
	}
	snprintf(db->sqlstate, sizeof db->sqlstate, "%s", state_of(result));
	if (!db->plain || !tell_plainly(db->sqlstate, result, e))
		err_set(e, "%s", PQresultErrorMessage(result));
	PQclear(result);
	if (PQstatus(db->conn) != CONNECTION_OK || is_down(db->sqlstate)) {
		drop(db);
		return DB_DOWN;
	}
	return DB_REFUSED;
}

const char *db_sqlstate(const struct db *db)
{
	return db->sqlstate;
}

unsigned long db_reconnects(const struct db *db)
{
	return db->reconnects;
}

PGconn *db_conn(struct db *db)
{
	return db->conn;
}
