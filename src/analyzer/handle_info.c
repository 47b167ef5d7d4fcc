/* SPDX-License-Identifier: Apache-2.0
 * The small endpoints: what this node is, and the schema it was given. */
#include "analyzer/answer.h"
#include "analyzer/handlers.h"
#include "analyzer/verdict.h"
#include "common/clock.h"
#include "config.h"

static void add_text(struct json_object *obj, const char *name, const char *value)
{
	json_object_object_add(obj, name, json_object_new_string(value));
}

static void add_int(struct json_object *obj, const char *name, int64_t value)
{
	json_object_object_add(obj, name, json_object_new_int64(value));
}

static void add_list(struct json_object *obj, const char *name, const char *const *words)
{
	struct json_object *list = json_object_new_array();

	for (; *words != NULL; words++)
		json_object_array_add(list, json_object_new_string(*words));
	json_object_object_add(obj, name, list);
}

enum MHD_Result handle_healthz(struct request *r)
{
	struct json_object *obj = json_object_new_object();
	char version[SCHEMA_VERSION_MAX + 1];

	schema_version(r->analyzer->schema, version);
	add_text(obj, "status", "ok");
	add_text(obj, "version", PACKAGE_VERSION);
	add_text(obj, "schema_version", version);
	add_int(obj, "uptime_sec", (clock_ms() - r->analyzer->started_ms) / 1000);
	add_int(obj, "inflight", atomic_load(&r->analyzer->inflight));
	add_int(obj, "max_inflight", r->analyzer->max_inflight);
	return answer_json(r, MHD_HTTP_OK, obj);
}

enum MHD_Result handle_capabilities(struct request *r)
{
	static const char *const profiles[] = {"fast", "standard", NULL};
	struct json_object *obj = json_object_new_object();

	add_text(obj, "name", "cam-analyzer");
	add_text(obj, "version", PACKAGE_VERSION);
	add_int(obj, "max_image_bytes", FORM_IMAGE_MAX);
	add_int(obj, "max_inflight", r->analyzer->max_inflight);
	add_list(obj, "supported_primary_events", verdict_primary_events);
	add_list(obj, "supported_tags", verdict_tags);
	add_list(obj, "profiles", profiles);
	return answer_json(r, MHD_HTTP_OK, obj);
}

enum MHD_Result handle_schema_get(struct request *r)
{
	char *document = schema_document(r->analyzer->schema);

	if (document == NULL)
		return answer_error(r, MHD_HTTP_NOT_FOUND, "schema_not_set", "no schema has been set since the start");
	return answer_text(r, MHD_HTTP_OK, document);
}

enum MHD_Result handle_schema_put(struct request *r)
{
	char version[SCHEMA_VERSION_MAX + 1];
	struct json_object *obj;
	struct err e;

	if (schema_set(r->analyzer->schema, r->body.data, r->body.len, version, &e) < 0)
		return answer_error(r, MHD_HTTP_BAD_REQUEST, "bad_schema", e.msg);
	obj = json_object_new_object();
	add_text(obj, "schema_version", version);
	add_text(obj, "status", "accepted");
	return answer_json(r, MHD_HTTP_OK, obj);
}

enum MHD_Result handle_debug_requests(struct request *r)
{
	return answer_json(r, MHD_HTTP_OK, stats_json(r->analyzer->stats));
}
