/* SPDX-License-Identifier: Apache-2.0
 * The queue, for operators: a page of it, and a job put back or taken out. */
#include "common/ident.h"
#include "fcgi/handlers.h"

#include <string.h>

enum { LIMIT_MAX = 200, JOB_ID_DIGITS_MAX = 18 };

enum { STATUS, KIND, CAMERA_ID, LIMIT, CURSOR, PARAMS };

/* words: what the database's enum holds, divided by '|'. */
static int check_choice(const struct query_param *p, const char *words, struct err *e)
{
	size_t len = p->value != NULL ? strlen(p->value) : 0;

	if (p->value == NULL)
		return 0;
	for (const char *w = words;; w++) {
		size_t word = strcspn(w, "|");

		if (word == len && strncmp(w, p->value, len) == 0)
			return 0;
		w += word;
		if (*w == '\0')
			return err_set(e, "\"%s\" must be one of %s", p->name, words);
	}
}

static int check(const struct query_param q[PARAMS], struct err *e)
{
	long ignored;

	if (check_choice(&q[STATUS], "queued|waiting|running|done|dead|cancelled", e) < 0 ||
	    check_choice(&q[KIND], "analyze|archive|notify|escalate", e) < 0 ||
	    query_int(&q[LIMIT], 1, LIMIT_MAX, &ignored, e) < 0)
		return -1;
	if (q[CAMERA_ID].value != NULL && !ident_valid(q[CAMERA_ID].value))
		return err_set(e, "\"camera_id\" must be 1 to %d letters, digits, '_', '.' or '-'", IDENT_MAX);
	return 0;
}

void handle_job_list(struct api *api, struct request *r, struct answer *a)
{
	struct query_param q[PARAMS] = {
	    [STATUS] = {"status", NULL},
	    [KIND] = {"kind", NULL},
	    [CAMERA_ID] = {"camera_id", NULL},
	    [LIMIT] = {"limit", NULL},
	    [CURSOR] = {"cursor", NULL},
	};
	const char *params[PARAMS];
	struct query text;
	struct err e;

	if (!api_query(r, a, &text, q, PARAMS))
		return;
	if (check(q, &e) < 0) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	for (size_t i = 0; i < PARAMS; i++)
		params[i] = q[i].value;
	api_answer(a,
	    api_call(api, a, API_SQL("job_list($5::camserver.job_status, $6::camserver.job_kind, $7, $8::integer, $9)"),
		PARAMS, params),
	    "OK", 200);
}

static void job_call(struct api *api, struct request *r, struct answer *a, const char *sql)
{
	size_t digits = strspn(r->args[0], "0123456789");
	struct query text;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	if (digits == 0 || digits > JOB_ID_DIGITS_MAX || r->args[0][digits] != '\0') {
		answer_error(a, "UNKNOWN_JOB");
		return;
	}
	api_answer(a, api_call(api, a, sql, 1, (const char *[]){r->args[0]}), "OK", 200);
}

void handle_job_retry(struct api *api, struct request *r, struct answer *a)
{
	job_call(api, r, a, API_SQL("job_retry($5::bigint)"));
}

void handle_job_cancel(struct api *api, struct request *r, struct answer *a)
{
	job_call(api, r, a, API_SQL("job_cancel($5::bigint, 'cancelled by ' || who.user_id)"));
}
