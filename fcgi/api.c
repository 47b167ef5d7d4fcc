/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/api.h"

#include "common/clock.h"
#include "common/ident.h"
#include "common/json.h"
#include "common/log.h"

#include <string.h>

enum { CALLER_PARAMS = 4 };

/* The function or table is not there: the database is older than this program. */
static bool is_outdated(const char *sqlstate)
{
	return strcmp(sqlstate, "42883") == 0 || strcmp(sqlstate, "42P01") == 0 || strcmp(sqlstate, "3F000") == 0 ||
	       strcmp(sqlstate, "42703") == 0;
}

void api_db_error(struct api *api, struct answer *a, enum db_status status, const struct err *e)
{
	const char *state = db_sqlstate(api->db);

	if (status == DB_DOWN || strcmp(state, "57014") == 0) {
		metrics_add(api->metrics, METRIC_DB_UNAVAILABLE);
		log_warning("%s", e->msg);
		answer_error(a, "DB_UNAVAILABLE");
	} else if (is_outdated(state)) {
		metrics_add(api->metrics, METRIC_DB_ERRORS);
		log_error("the database schema does not fit this program: %s", e->msg);
		answer_error(a, "SCHEMA_OUTDATED");
	} else {
		metrics_add(api->metrics, METRIC_DB_ERRORS);
		log_error("database error %s: %s", state, e->msg);
		answer_error(a, "INTERNAL_ERROR");
	}
}

static const char *or_null(const char *s)
{
	return s != NULL && *s != '\0' ? s : NULL;
}

struct json_object *api_call(struct api *api, struct answer *a, const char *sql, int n, const char *const *params)
{
	const char *all[CALLER_PARAMS + API_PARAMS_MAX] = {
	    api->role, or_null(api->identity.token), api->identity.remote_user, or_null(api->identity.session)};
	struct json_object *object = NULL;
	PGresult *result = NULL;
	int64_t start = clock_us();
	enum db_status status;
	struct err e;

	for (int i = 0; i < n && i < API_PARAMS_MAX; i++)
		all[CALLER_PARAMS + i] = params[i];
	status = api->db_status = db_query(api->db, sql, CALLER_PARAMS + n, all, &result, &e);
	metrics_observe(api->metrics, HISTOGRAM_DATABASE, clock_us() - start);
	if (status != DB_OK) {
		api_db_error(api, a, status, &e);
	} else if (!PQgetisnull(result, 0, 0)) {
		answer_error(a, PQgetvalue(result, 0, 0));
		if (a->status == 401)
			answer_header(a, "WWW-Authenticate", "Bearer realm=\"camserver\"");
	} else {
		object = json_tokener_parse(PQgetvalue(result, 0, 1));
		if (object == NULL)
			answer_error(a, "INTERNAL_ERROR");
	}
	PQclear(result);
	return object;
}

const char *api_outcome(struct json_object *result)
{
	struct json_object *outcome;

	if (!json_object_object_get_ex(result, "outcome", &outcome) || outcome == NULL)
		return "INTERNAL_ERROR";
	return json_object_get_string(outcome);
}

void api_answer(struct answer *a, struct json_object *result, const char *success, int status)
{
	if (result == NULL)
		return;
	if (strcmp(api_outcome(result), success) == 0) {
		json_object_object_del(result, "outcome");
		answer_json(a, status, json_object_get(result));
	} else {
		answer_error_with(a, api_outcome(result), NULL, result);
	}
	json_object_put(result);
}

bool api_query(const struct request *r, struct answer *a, struct query *q, struct query_param *params, size_t n)
{
	const char *uri = request_var(r, "REQUEST_URI"), *fault;
	struct err e;

	fault = query_parse(uri != NULL ? uri : "", q, params, n, &e);
	if (fault != NULL)
		answer_error_with(a, fault, e.msg, NULL);
	return fault == NULL;
}

void api_changed(struct api *api)
{
	metrics_add(api->metrics, METRIC_CHANGES);
}

void api_put(struct api *api, struct request *r, struct answer *a, const char *sql, const char *what)
{
	struct json_object *body = NULL, *result;
	struct query text;
	struct err e;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	if (!request_is_type(r, "application/json")) {
		answer_error_with(a, "UNSUPPORTED_MEDIA_TYPE", "send application/json", NULL);
		return;
	}
	if (!ident_valid(r->args[0])) {
		err_set(&e, "a %s's name is 1 to 64 letters, digits, '_', '.' or '-'", what);
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	result = api_call(api, a, sql, 2, (const char *[]){r->args[0], r->body.data});
	if (result != NULL)
		api_changed(api);
	if (result != NULL && strcmp(api_outcome(result), "CREATED") == 0)
		api_answer(a, result, "CREATED", 201);
	else
		api_answer(a, result, "OK", 200);
	json_object_put(body);
}
