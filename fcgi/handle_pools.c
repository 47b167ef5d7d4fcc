/* SPDX-License-Identifier: Apache-2.0
 * Worker pools, for operators: all, one with its workers, and changes. */
#include "common/ident.h"
#include "common/json.h"
#include "fcgi/handlers.h"

#include <string.h>

void handle_pool_list(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (api_query(r, a, &text, NULL, 0))
		api_answer(a, api_call(api, a, API_SQL("pool_list()"), 0, NULL), "OK", 200);
}

void handle_pool_get(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	if (!ident_valid(r->args[0])) {
		answer_error(a, "UNKNOWN_POOL");
		return;
	}
	api_answer(a, api_call(api, a, API_SQL("pool_list($5)"), 1, (const char *[]){r->args[0]}), "OK", 200);
}

void handle_pool_put(struct api *api, struct request *r, struct answer *a)
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
		answer_error_with(a, "BAD_REQUEST", "a pool's name is 1 to 64 letters, digits, '_', '.' or '-'", NULL);
		return;
	}
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	result = api_call(api, a, API_SQL("pool_put($5, $6::jsonb)"), 2, (const char *[]){r->args[0], r->body.data});
	if (result != NULL && strcmp(api_outcome(result), "CREATED") == 0)
		api_answer(a, result, "CREATED", 201);
	else
		api_answer(a, result, "OK", 200);
	json_object_put(body);
}
