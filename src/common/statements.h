/* SPDX-License-Identifier: Apache-2.0
 * Which statements a connection has run. From its second time on one is prepared, under a name made of its text, so
 * that under one name there is never another statement, whoever prepared it. Behind a pool in transaction mode, where
 * what was prepared may be on another of its connections, that is given up at the first sign of it. */
#ifndef CAM_STATEMENTS_H
#define CAM_STATEMENTS_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATEMENTS_MAX = 64, STATEMENT_NAME_MAX = 24 };

struct statements {
	struct statement {
		uint64_t hash;
		bool prepared;
	} list[STATEMENTS_MAX];
	size_t n;
	bool off;
};

enum statement_use {
	STATEMENT_PLAIN,   /* to be sent as text */
	STATEMENT_PREPARE, /* to be prepared under the name first */
	STATEMENT_PREPARED /* runs under the name */
};

/* A new connection has run nothing: all zero. Notes that the statement is run. */
enum statement_use statements_use(struct statements *s, const char *sql, char ret_name[STATEMENT_NAME_MAX]);
/* What came of preparing it; a fault is left to the statement itself to meet. True if it is prepared now. */
bool statements_prepared(struct statements *s, const char *sql, const PGresult *result);
/* The answer to a prepared statement says that it is not there, or not what it was any more: nothing has been done, and
 * it is to be sent as text. */
bool statements_lost(struct statements *s, const PGresult *result);

#endif
