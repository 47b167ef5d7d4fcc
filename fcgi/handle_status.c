/* SPDX-License-Identifier: Apache-2.0
 * The state of the system, and the camera to look at. */
#include "fcgi/handlers.h"

/* Looking counts as being there only for those who come back: a program without a cookie jar is nobody new each time.
 */
#define VIEWER "CASE WHEN $5::boolean THEN who.user_id END"

static void answer_call(struct api *api, struct answer *a, const char *sql)
{
	struct json_object *result = api_call(api, a, sql, 1, (const char *[]){api->identity.returning ? "t" : "f"});

	if (result != NULL)
		answer_json(a, 200, result);
}

void handle_system_status(struct api *api, struct request *r, struct answer *a)
{
	(void)r;
	answer_call(api, a, API_SQL("system_status(" VIEWER ")"));
}

void handle_suggest(struct api *api, struct request *r, struct answer *a)
{
	(void)r;
	answer_call(api, a, API_SQL("suggest_get(" VIEWER ")"));
}
