/* SPDX-License-Identifier: Apache-2.0
 * Stream servers, for operators: a change of one's budget. */
#include "common/ident.h"
#include "common/json.h"
#include "fcgi/handlers.h"

void handle_server_put(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *body;
	struct query text;
	struct err e;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	if (!request_is_type(r, "application/json")) {
		answer_error_with(a, "UNSUPPORTED_MEDIA_TYPE", "send application/json", NULL);
		return;
	}
	if (!ident_valid(r->args[0])) {
		answer_error(a, "UNKNOWN_SERVER");
		return;
	}
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	api_answer(a,
	    api_call(api, a, API_SQL("server_put($5, $6::jsonb)"), 2,
		(const char *[]){r->args[0], json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN)}),
	    "OK", 200);
	json_object_put(body);
}
