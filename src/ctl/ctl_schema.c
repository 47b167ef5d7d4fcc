/* SPDX-License-Identifier: Apache-2.0
 * camctl schema: the tag schemas that inference nodes are told to speak. */
#include "common/file.h"
#include "common/json.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_BYTES_MAX = 1024 * 1024 };

int ctl_schema_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT v.schema_version, v.schema_version = $1 AS in_use, count(t.tag_id) AS tags,"
	    " camserver.rfc3339(v.created_at) AS created_at"
	    " FROM camserver.schema_versions v LEFT JOIN camserver.schema_tags t USING (schema_version)"
	    " GROUP BY v.schema_version ORDER BY v.created_at DESC, v.schema_version DESC",
	    1, (const char *[]){ctl->conf->schema_version});
}

/* The text, known to be one JSON object; the database judges its members. The caller frees it. */
static char *read_object(const char *path)
{
	struct json_object *json;
	struct err e;
	size_t len;
	char *text = file_read_named(path, SCHEMA_BYTES_MAX, &len, &e);

	if (text == NULL) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return NULL;
	}
	json = json_parse_object(text, len, &e);
	if (json == NULL) {
		fprintf(stderr, "camctl: %s: %s\n", path, e.msg);
		free(text);
		return NULL;
	}
	json_object_put(json);
	return text;
}

static int say(struct ctl *ctl, const char *answer)
{
	struct json_object *json = json_tokener_parse(answer);
	const char *outcome = "", *version = "?";
	int64_t tags = 0;
	int result = EXIT_SUCCESS;

	(void)json_get_string(json, "outcome", &outcome, NULL);
	(void)json_get_string(json, "schema_version", &version, NULL);
	(void)json_get_int64(json, "tags", &tags, NULL);
	if (strcmp(outcome, "CONFLICT") == 0) {
		fprintf(stderr,
		    "camctl: schema %s exists with other content, and nodes may speak it; give the new one a new "
		    "version\n",
		    version);
		result = EXIT_FAILURE;
	} else {
		printf("schema %s %s, %d tags\n", version,
		    strcmp(outcome, "LOADED") == 0 ? "loaded" : "is there already", (int)tags);
		if (strcmp(version, ctl->conf->schema_version) != 0)
			printf("SCHEMA_VERSION=%s in the configuration puts it to use\n", version);
	}
	json_object_put(json);
	return result;
}

int ctl_schema_load(struct ctl *ctl)
{
	PGresult *row = NULL;
	char *text = read_object(ctl->argv[0]);
	int result = EXIT_FAILURE;

	if (text != NULL &&
	    ctl_query(ctl, "SELECT camserver.schema_load($1::jsonb)", 1, (const char *[]){text}, &row) == 0) {
		result = say(ctl, PQgetvalue(row, 0, 0));
		PQclear(row);
	}
	free(text);
	return result;
}
