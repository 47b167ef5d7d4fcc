/* SPDX-License-Identifier: Apache-2.0
 * Inference nodes, for operators: all of them, and changes. */
#include "fcgi/handlers.h"

void handle_node_list(struct api *api, struct request *r, struct answer *a)
{
	struct query text;

	if (api_query(r, a, &text, NULL, 0))
		api_answer(a, api_call(api, a, API_SQL("node_list()"), 0, NULL), "OK", 200);
}

void handle_node_put(struct api *api, struct request *r, struct answer *a)
{
	api_put(api, r, a, API_SQL("node_put($5, $6::jsonb)"), "node");
}
