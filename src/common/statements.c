/* SPDX-License-Identifier: Apache-2.0 */
#include "common/statements.h"

#include <stdio.h>
#include <string.h>

static uint64_t hash_of(const char *sql)
{
	uint64_t hash = 14695981039346656037U;

	for (; *sql != '\0'; sql++)
		hash = (hash ^ (unsigned char)*sql) * 1099511628211U;
	return hash;
}

static struct statement *find(struct statements *s, uint64_t hash)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].hash == hash)
			return &s->list[i];
	return NULL;
}

static bool is_state(const PGresult *result, const char *sqlstate)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return state != NULL && strcmp(state, sqlstate) == 0;
}

enum statement_use statements_use(struct statements *s, const char *sql, char ret_name[STATEMENT_NAME_MAX])
{
	uint64_t hash = hash_of(sql);
	const struct statement *known = find(s, hash);

	if (s->off)
		return STATEMENT_PLAIN;
	if (known == NULL) {
		if (s->n < STATEMENTS_MAX)
			s->list[s->n++] = (struct statement){.hash = hash};
		return STATEMENT_PLAIN;
	}
	snprintf(ret_name, STATEMENT_NAME_MAX, "cam_%016llx", (unsigned long long)hash);
	return known->prepared ? STATEMENT_PREPARED : STATEMENT_PREPARE;
}

bool statements_prepared(struct statements *s, const char *sql, const PGresult *result)
{
	struct statement *known = find(s, hash_of(sql));

	/* 42P05: somebody whose connection this was, behind a pool, has prepared it. */
	if (known != NULL)
		known->prepared =
		    result != NULL && (PQresultStatus(result) == PGRES_COMMAND_OK || is_state(result, "42P05"));
	return known != NULL && known->prepared;
}

bool statements_lost(struct statements *s, const PGresult *result)
{
	/* 26000: behind a pool this is another connection than the one it was prepared on. 0A000: the database's
	 * functions were replaced by others that return something else. */
	if (PQresultStatus(result) != PGRES_FATAL_ERROR || (!is_state(result, "26000") && !is_state(result, "0A000")))
		return false;
	s->off = true;
	return true;
}
