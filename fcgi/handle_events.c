/* SPDX-License-Identifier: Apache-2.0
 * Events: a page of the list, and one with its frames. */
#include "common/ident.h"
#include "fcgi/console.h"
#include "fcgi/handlers.h"
#include "common/iso_time.h"

#include <string.h>

enum { LIMIT_MAX = 200, SEVERITY_MAX = 3 };

enum { CAMERA_ID, PRIMARY_EVENT, STATE, SEVERITY, SINCE, BEFORE, LIMIT, CURSOR, PARAMS };

static int check_name(const struct query_param *p, struct err *e)
{
	if (p->value != NULL && !ident_valid(p->value))
		return err_set(e, "\"%s\" must be 1 to %d letters, digits, '_', '.' or '-'", p->name, IDENT_MAX);
	return 0;
}

/* Has the value point to the same time in UTC. */
static int check_time(struct query_param *p, char utc[RFC3339_UTC_LEN + 1], struct err *e)
{
	if (p->value == NULL)
		return 0;
	if (!rfc3339_parse(p->value, utc))
		return err_set(e, "\"%s\" must be a time such as 2026-01-31T23:59:59.123Z (RFC 3339)", p->name);
	p->value = utc;
	return 0;
}

static int check(
    struct query_param q[PARAMS], char since[RFC3339_UTC_LEN + 1], char before[RFC3339_UTC_LEN + 1], struct err *e)
{
	long ignored;

	if (check_name(&q[CAMERA_ID], e) < 0 || check_name(&q[PRIMARY_EVENT], e) < 0 ||
	    query_int(&q[SEVERITY], 0, SEVERITY_MAX, &ignored, e) < 0 || check_time(&q[SINCE], since, e) < 0 ||
	    check_time(&q[BEFORE], before, e) < 0 || query_int(&q[LIMIT], 1, LIMIT_MAX, &ignored, e) < 0)
		return -1;
	if (q[STATE].value != NULL && strcmp(q[STATE].value, "open") != 0 && strcmp(q[STATE].value, "closed") != 0)
		return err_set(e, "\"state\" must be \"open\" or \"closed\"");
	return 0;
}

/* A page of the list, as this statement makes it of the query's parameters; NULL after filling in the error answer. */
static struct json_object *list(struct api *api, struct request *r, struct answer *a, const char *sql)
{
	struct query_param q[PARAMS] = {
	    [CAMERA_ID] = {"camera_id", NULL},
	    [PRIMARY_EVENT] = {"primary_event", NULL},
	    [STATE] = {"state", NULL},
	    [SEVERITY] = {"severity", NULL},
	    [SINCE] = {"since", NULL},
	    [BEFORE] = {"before", NULL},
	    [LIMIT] = {"limit", NULL},
	    [CURSOR] = {"cursor", NULL},
	};
	char since[RFC3339_UTC_LEN + 1], before[RFC3339_UTC_LEN + 1];
	const char *params[PARAMS];
	struct query text;
	struct err e;

	if (!api_query(r, a, &text, q, PARAMS))
		return NULL;
	if (check(q, since, before, &e) < 0) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return NULL;
	}
	for (size_t i = 0; i < PARAMS; i++)
		params[i] = q[i].value;
	return api_call(api, a, sql, PARAMS, params);
}

#define LIST_PARAMS \
	"$5, $6, $7::camserver.event_state, $8::integer, $9::timestamptz, $10::timestamptz, $11::integer, $12"

void handle_event_list(struct api *api, struct request *r, struct answer *a)
{
	api_answer(a, list(api, r, a, API_SQL("event_list(" LIST_PARAMS ")")), "OK", 200);
}

void handle_console_events(struct api *api, struct request *r, struct answer *a)
{
	console_answer(api, r, a, list(api, r, a, API_SQL("console_events(who.user_id, who.role, " LIST_PARAMS ")")));
}

void handle_event_get(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	if (!ident_is_uuid(r->args[0])) {
		answer_error(a, "UNKNOWN_EVENT");
		return;
	}
	api_answer(a, api_call(api, a, API_SQL("event_get($5::uuid)"), 1, (const char *[]){r->args[0]}), "OK", 200);
}
