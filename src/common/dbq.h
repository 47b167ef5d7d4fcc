/* SPDX-License-Identifier: Apache-2.0
 * A queue of statements on one PostgreSQL connection that never blocks, for programs that live in a loop. Statements
 * run one after another, each in its own transaction; the connection is made, watched and made again by itself. */
#ifndef CAM_DBQ_H
#define CAM_DBQ_H

#include "common/err.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct dbq;

/* Called once for every accepted statement. result is NULL when the connection was lost, or no answer came in time:
 * then it may have happened or not. Otherwise it holds rows or an error; the queue clears it afterwards. */
typedef void dbq_done(void *arg, PGresult *result, const char *error);

enum { DBQ_PARAMS_MAX = 16, DBQ_LENGTH_MAX = 4096, DBQ_CHANNELS_MAX = 2 };

/* url and application stay the caller's and must live on. NULL: out of memory. */
struct dbq *dbq_new(const char *url, const char *application, int timeout_ms);
/* Statements not yet answered get no call any more. */
void dbq_free(struct dbq *q);

/* Queues a statement; the parameters (text, NULL is SQL NULL) are copied. -1 when the queue is full or memory ran
 * out: then done is not called. While the database is away statements fail at once, from dbq_step(). */
int dbq_submit(struct dbq *q, const char *sql, int n, const char *const *params, dbq_done *done, void *arg);

/* Answers everything that waits as lost, as if the database had gone. */
void dbq_give_up(struct dbq *q);
/* The same URL in memory that lives on. */
void dbq_rename(struct dbq *q, const char *url);

/* For the loop: the descriptor to wait for (-1: none), with which poll events, until when (a clock_ms() time) at
 * the latest, and what to do then. */
int dbq_fd(const struct dbq *q);
short dbq_events(const struct dbq *q);
int64_t dbq_wake_at(const struct dbq *q);
void dbq_step(struct dbq *q, int64_t now);

/* Makes this connection hear a channel, up to DBQ_CHANNELS_MAX of them, from its next start on; channel is a plain
 * lower-case name that must live on. dbq_notified() is true once for any number of notifications, and after every
 * reconnection, since some may have been missed. */
void dbq_listen(struct dbq *q, const char *channel);
bool dbq_notified(struct dbq *q);

bool dbq_connected(const struct dbq *q);
bool dbq_idle(const struct dbq *q);
/* Why the last connection failed; "" if none did. */
const char *dbq_fault(const struct dbq *q);

#endif
