/* SPDX-License-Identifier: Apache-2.0
 * What the console's pages poll: one request each, 304 while nothing changes. The list of events is in
 * handle_events.c. */
#include "common/ident.h"
#include "fcgi/console.h"
#include "fcgi/handlers.h"

void handle_console_live(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (api_query(r, a, &text, NULL, 0))
		console_answer(api, r, a,
		    api_call(api, a, API_SQL("console_live(who.user_id, who.role, $5::boolean)"), 1,
			(const char *[]){api->identity.returning ? "t" : "f"}));
}

void handle_console_event(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (!api_query(r, a, &text, NULL, 0))
		return;
	if (!ident_is_uuid(r->args[0])) {
		answer_error(a, "UNKNOWN_EVENT");
		return;
	}
	console_answer(api, r, a,
	    api_call(
		api, a, API_SQL("console_event(who.user_id, who.role, $5::uuid)"), 1, (const char *[]){r->args[0]}));
}

void handle_console_operations(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (api_query(r, a, &text, NULL, 0))
		console_answer(
		    api, r, a, api_call(api, a, API_SQL("console_operations(who.user_id, who.role)"), 0, NULL));
}
