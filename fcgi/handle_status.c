/* SPDX-License-Identifier: Apache-2.0
 * The state of the system, and the camera to look at. */
#include "fcgi/handlers.h"
#include "fcgi/pressure.h"
#include "fcgi/repeat.h"

/* Looking counts as being there only for those who come back: a program without a cookie jar is nobody new each time.
 */
#define VIEWER "CASE WHEN $5::boolean THEN who.user_id END"

static struct json_object *call(struct api *api, struct answer *a, const char *sql)
{
	return api_call(api, a, sql, 1, (const char *[]){api->identity.returning ? "t" : "f"});
}

/* The queue's numbers become stages: of frames, in the database, and of model calls, in this host's gateways. */
static void add_backpressure(const struct api *api, struct json_object *status)
{
	struct backpressure_limits limits = backpressure_default_limits;
	struct json_object *o = json_object_new_object(), *queue;
	int64_t queued;

	if (json_object_object_get_ex(status, "queue", &queue)) {
		queued = pressure_read(queue, &limits);
		json_object_object_add(o, "ingest", pressure_json(&limits, queued));
		json_object_object_del(status, "queue");
	}
	queued = pressure_gateways(api->metrics, &limits);
	if (limits.max > 0)
		json_object_object_add(o, "gateway", pressure_json(&limits, queued));
	json_object_object_add(status, "backpressure", o);
}

void handle_system_status(struct api *api, struct request *r, struct answer *a)
{
	static const char key[] = "status";
	struct json_object *result;
	const char *code;

	(void)r;
	if (repeat_answer(api, a, key, &code))
		return;
	result = call(api, a, API_SQL("system_status(" VIEWER ")"));
	if (result == NULL)
		return;
	add_backpressure(api, result);
	answer_json(a, 200, result);
	repeat_keep(api, a, key, "", CALLER_IS_SEEN, INT64_MAX);
}

void handle_suggest(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *result = call(api, a, API_SQL("suggest_get(" VIEWER ")"));

	(void)r;
	if (result != NULL)
		answer_json(a, 200, result);
}
