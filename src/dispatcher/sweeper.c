/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/sweeper.h"

#include "common/json.h"
#include "common/log.h"

#include <string.h>

enum { INTERVAL_MS = 2000 };

static void swept(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	struct json_object *json;
	const char *name = NULL, *fault = NULL;
	int64_t count = 0;

	d->sweeper.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		log_warning("no sweep: %s", error);
		return;
	}
	json = json_tokener_parse(PQgetvalue(result, 0, 0));
	if (json == NULL)
		return;
	(void)json_get_string(json, "name", &name, NULL);
	(void)json_get_string(json, "error", &fault, NULL);
	(void)json_get_int64(json, "count", &count, NULL);
	if (name != NULL) {
		d->sweeper.due = 0; /* something was due; perhaps more is */
		if (strcmp(name, "jobs") == 0)
			metrics_add_n(d->metrics, METRIC_JOBS_RESCUED, (uint64_t)count);
		else if (strcmp(name, "leases") == 0)
			metrics_add_n(d->metrics, METRIC_LEASES_SWEPT, (uint64_t)count);
		if (strcmp(name, "leases") == 0 && count > 0)
			metrics_add(d->metrics, METRIC_CHANGES);
		if (fault != NULL)
			log_error("sweep %s failed: %s", name, fault);
		else
			log_debug("sweep %s: %lld", name, (long long)count);
	}
	json_object_put(json);
}

int64_t sweeper_tick(struct dispatcher *d, int64_t now)
{
	if (d->sweeper.asking || !dbq_connected(d->db))
		return now + INTERVAL_MS;
	if (now < d->sweeper.due)
		return d->sweeper.due;
	d->sweeper.due = now + INTERVAL_MS;
	d->sweeper.asking =
	    dbq_submit(d->db, "SELECT camserver.sweep_run($1)", 1, (const char *[]){d->id}, swept, d) == 0;
	return d->sweeper.due;
}
