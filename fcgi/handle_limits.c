/* SPDX-License-Identifier: Apache-2.0
 * Limits of model calls, for operators: all of them, and a change to one level. */
#include "common/json.h"
#include "fcgi/handlers.h"

#include <string.h>

void handle_limits_list(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	api_answer(a, api_call(api, a, API_SQL("limits_show()"), 0, NULL), "OK", 200);
}

static void set(struct api *api, struct request *r, struct answer *a, const char *level, const char *name)
{
	struct json_object *body;
	struct query text;
	struct err e;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	body = json_parse_object(r->body.data, r->body.len, &e);
	if (body == NULL) {
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
		return;
	}
	api_answer(a,
	    api_call(api, a, API_SQL("limits_set($5::camserver.limit_level, $6, $7::jsonb)"), 3,
		(const char *[]){level, name, json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN)}),
	    "OK", 200);
	json_object_put(body);
}

void handle_limits_set_global(struct api *api, struct request *r, struct answer *a)
{
	set(api, r, a, "global", "");
}

void handle_limits_set_provider(struct api *api, struct request *r, struct answer *a)
{
	set(api, r, a, "provider", r->args[0]);
}

void handle_limits_set_model(struct api *api, struct request *r, struct answer *a)
{
	set(api, r, a, "model", r->args[0]);
}
