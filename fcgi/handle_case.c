/* SPDX-License-Identifier: Apache-2.0
 * Cases: an event that belongs to one is kept for ever. */
#include "common/ident.h"
#include "common/json.h"
#include "fcgi/handlers.h"

/* The path's event; false after filling in the answer. */
static bool check_event(const struct request *r, struct answer *a)
{
	struct query text;

	if (!api_query(r, a, &text, NULL, 0))
		return false;
	if (ident_is_uuid(r->args[0]))
		return true;
	answer_error(a, "UNKNOWN_EVENT");
	return false;
}

void handle_case_attach(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *body;
	const char *case_id = NULL;
	struct err e;

	if (!request_is_type(r, "application/json")) {
		answer_error_with(a, "UNSUPPORTED_MEDIA_TYPE", "send application/json", NULL);
		return;
	}
	if (!check_event(r, a))
		return;
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL || json_get_string(body, "case_id", &case_id, &e) < 0)
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
	else if (case_id == NULL)
		answer_error_with(a, "BAD_REQUEST", "\"case_id\" is missing", NULL);
	else if (!ident_valid(case_id))
		answer_error(a, "BAD_CASE_ID");
	else
		api_answer(a,
		    api_call(api, a, API_SQL("case_attach(who.user_id, $5::uuid, $6)"), 2,
			(const char *[]){r->args[0], case_id}),
		    "OK", 200);
	json_object_put(body);
}

void handle_case_detach(struct api *api, struct request *r, struct answer *a)
{
	if (check_event(r, a))
		api_answer(a,
		    api_call(api, a, API_SQL("case_detach(who.user_id, $5::uuid)"), 1, (const char *[]){r->args[0]}),
		    "OK", 200);
}
