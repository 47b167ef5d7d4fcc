/* SPDX-License-Identifier: Apache-2.0
 * Worker pools, for operators: all, one with its workers, and changes. */
#include "common/ident.h"
#include "fcgi/handlers.h"

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
	api_put(api, r, a, API_SQL("pool_put($5, $6::jsonb)"), "pool");
}
