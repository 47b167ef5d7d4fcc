/* SPDX-License-Identifier: Apache-2.0
 * One PostgreSQL connection for request-and-answer programs: every call is one round trip with a deadline, a lost
 * connection is opened again by the next call. What is asked again is prepared; where that gets lost, since PgBouncer
 * stands between, it is not. No other session state is kept. */
#ifndef CAM_DB_H
#define CAM_DB_H

#include "common/err.h"

#include <libpq-fe.h>
#include <stdbool.h>

struct db;

enum db_status {
	DB_OK,
	DB_DOWN,    /* not reachable, lost, or no answer in time; what was asked may have happened or not */
	DB_REFUSED, /* PostgreSQL answered with an error; db_sqlstate() says which */
};

enum { DB_PARAMS_MAX = 16, DB_SQLSTATE_LEN = 5 };

/* url and application stay the caller's and must live on. Connects at the first call. NULL: out of memory. */
struct db *db_new(const char *url, const char *application, int timeout_ms);
void db_free(struct db *db);
/* For a person rather than a log: a refused value is told in few words, without the statement and the row, which may hold
 * what is nobody's business. */
void db_speak_plainly(struct db *db);

/* Runs one statement with text parameters (NULL is SQL NULL). On DB_OK *ret is the caller's to PQclear(). */
enum db_status db_query(
    struct db *db, const char *sql, int n, const char *const *params, PGresult **ret, struct err *e);
/* Connects now if it is not connected. */
enum db_status db_connect(struct db *db, struct err *e);
/* SQLSTATE of the last DB_REFUSED, else "". */
const char *db_sqlstate(const struct db *db);
/* How often a lost connection was made again. */
unsigned long db_reconnects(const struct db *db);
/* For COPY, NOTICE handling and the like; NULL while not connected. */
PGconn *db_conn(struct db *db);

/* Connection keywords for libpq: the URL, and defaults that a URL may override: application name, connect timeout,
 * keepalives. Fills arrays of DB_KEYWORDS_MAX. Shared with the non-blocking dbq. */
enum { DB_KEYWORDS_MAX = 10 };
void db_keywords(
    const char *url, const char *application, const char *names[DB_KEYWORDS_MAX], const char *values[DB_KEYWORDS_MAX]);

#endif
