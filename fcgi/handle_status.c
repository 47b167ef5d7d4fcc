/* SPDX-License-Identifier: Apache-2.0
 * The state of the system, and the camera to look at. */
#include "fcgi/handlers.h"

static void answer_call(struct api *api, struct answer *a, const char *sql)
{
	struct json_object *result = api_call(api, a, sql, 0, NULL);

	if (result != NULL)
		answer_json(a, 200, result);
}

void handle_system_status(struct api *api, struct request *r, struct answer *a)
{
	(void)r;
	answer_call(api, a, API_SQL("system_status(who.user_id)"));
}

void handle_suggest(struct api *api, struct request *r, struct answer *a)
{
	(void)r;
	answer_call(api, a, API_SQL("suggest_get(who.user_id)"));
}
