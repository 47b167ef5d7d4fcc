/* SPDX-License-Identifier: Apache-2.0
 * Liveness and readiness, for load balancers and systemd. */
#include "config.h"
#include "fcgi/handlers.h"

#include <stdlib.h>

enum { SCHEMA_NEEDED = 4 }; /* the newest migration that this program's calls rely on */

void handle_healthz(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *json = json_object_new_object();

	(void)api;
	(void)r;
	json_object_object_add(json, "ok", json_object_new_boolean(1));
	json_object_object_add(json, "version", json_object_new_string(PACKAGE_VERSION));
	answer_json(a, 200, json);
}

void handle_readyz(struct api *api, struct request *r, struct answer *a)
{
	struct json_object *json;
	PGresult *result = NULL;
	struct err e;
	enum db_status status = db_query(api->db, "SELECT camserver.schema_version()", 0, NULL, &result, &e);
	int version;

	(void)r;
	if (status != DB_OK) {
		api_db_error(api, a, status, &e);
		return;
	}
	version = atoi(PQgetvalue(result, 0, 0));
	PQclear(result);
	if (version < SCHEMA_NEEDED) {
		answer_error(a, "SCHEMA_OUTDATED");
		return;
	}
	json = json_object_new_object();
	json_object_object_add(json, "ok", json_object_new_boolean(1));
	json_object_object_add(json, "schema_version", json_object_new_int(version));
	answer_json(a, 200, json);
}
