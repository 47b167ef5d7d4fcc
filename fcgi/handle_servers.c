/* SPDX-License-Identifier: Apache-2.0
 * Stream servers, for operators: a change of one's budget. */
#include "fcgi/handlers.h"

void handle_server_put(struct api *api, struct request *r, struct answer *a)
{
	api_put(api, r, a, API_SQL("server_put($5, $6::jsonb)"), "stream server");
}
