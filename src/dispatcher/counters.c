/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/counters.h"

#include "common/json.h"
#include "common/log.h"

enum { INTERVAL_MS = 5000 };

static void reported(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->counters.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("no counter report: %s", error);
}

int64_t counters_tick(struct dispatcher *d, int64_t now)
{
	struct json_object *json;

	if (now < d->counters.due)
		return d->counters.due;
	d->counters.due = now + INTERVAL_MS;
	if (d->metrics == NULL || d->counters.asking || !dbq_connected(d->db))
		return d->counters.due;
	json = json_object_new_object();
	for (int i = 0; i < METRIC_COUNT; i++)
		json_object_object_add(json, metrics_key((enum metric)i),
		    json_object_new_int64((int64_t)metrics_get(d->metrics, (enum metric)i)));
	d->counters.asking =
	    dbq_submit(d->db, "SELECT camserver.counters_report($1, $2, $3)", 3,
		(const char *[]){d->conf.host_name, metrics_epoch(d->metrics), json_object_to_json_string(json)},
		reported, d) == 0;
	json_object_put(json);
	return d->counters.due;
}
