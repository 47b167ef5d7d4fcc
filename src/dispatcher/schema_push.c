/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/schema_push.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/http.h"

#include <stdio.h>
#include <stdlib.h>

enum { PUT_TIMEOUT_MS = 5000, PUT_ANSWER_MAX = 64 * 1024, URL_MAX = 1024 };

static void noted(void *arg, PGresult *result, const char *error)
{
	(void)arg;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("the schema push is not noted: %s", error);
}

static void pushed(void *arg, const struct http_answer *a)
{
	struct dispatcher *d = arg;
	bool accepted = a->status == 200;
	char fault[320] = "";

	d->analyze.push = NULL;
	if (accepted) {
		metrics_add(d->metrics, METRIC_SCHEMA_PUSHES);
		log_info("node %s took schema %s", d->analyze.push_url, d->conf.schema_version);
	} else {
		snprintf(fault, sizeof fault, "status %ld %s", a->status, a->fault);
		log_error("node %s did not take schema %s: %s", d->analyze.push_url, d->conf.schema_version, fault);
		node_failed(&d->analyze.trouble, NODE_BUSY, 0, clock_ms(), (uint32_t)random());
	}
	(void)dbq_submit(d->db, "SELECT camserver.schema_push_end($1, $2, $3, $4)", 4,
	    (const char *[]){d->id, d->analyze.push_url, accepted ? "t" : "f", accepted ? NULL : fault}, noted, d);
}

static void put(struct dispatcher *d, struct json_object *schema)
{
	struct json_object *body = json_object_new_object();
	char url[URL_MAX];

	snprintf(url, sizeof url, "%s/v1/schema", d->analyze.push_url);
	json_object_object_add(body, "schema_version", json_object_new_string(d->conf.schema_version));
	json_object_object_add(body, "schema", json_object_get(schema));
	d->analyze.push = http_start(d->http,
	    &(struct http_request){.method = "PUT",
		.url = url,
		.timeout_ms = PUT_TIMEOUT_MS,
		.json = json_object_to_json_string(body),
		.answer_max = PUT_ANSWER_MAX},
	    pushed, d);
	json_object_put(body);
}

static void answered(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	struct json_object *json, *schema = NULL;
	bool push = false, repeated = false;
	const char *fault = "";

	d->analyze.asking_push = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		log_warning("no schema push: %s", error);
		return;
	}
	json = json_tokener_parse(PQgetvalue(result, 0, 0));
	if (json == NULL)
		return;
	(void)json_get_bool(json, "push", &push, NULL);
	(void)json_get_bool(json, "repeated", &repeated, NULL);
	(void)json_get_string(json, "error", &fault, NULL);
	if (push && json_object_object_get_ex(json, "schema", &schema)) {
		put(d, schema);
	} else if (repeated) {
		log_error("node %s: %s", d->analyze.push_url, fault);
		node_failed(&d->analyze.trouble, NODE_BUSY, 0, clock_ms(), (uint32_t)random());
	}
	json_object_put(json);
}

void schema_push_wanted(struct dispatcher *d, const char *base_url, const char *current)
{
	if (d->analyze.asking_push || d->analyze.push != NULL)
		return;
	snprintf(d->analyze.push_url, sizeof d->analyze.push_url, "%s", base_url);
	log_info("node %s speaks schema \"%s\", not %s", d->analyze.push_url, current, d->conf.schema_version);
	d->analyze.asking_push =
	    dbq_submit(d->db, "SELECT camserver.schema_push_begin($1, $2, $3)", 3,
		(const char *[]){d->id, d->analyze.push_url, d->conf.schema_version}, answered, d) == 0;
}
