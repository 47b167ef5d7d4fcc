/* SPDX-License-Identifier: Apache-2.0
 * camctl limits: what model calls may do. */
#include "common/file.h"
#include "common/json.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES_MAX = 4 * 1024 * 1024, CONFIG_DEPTH = 32 };

/* The configuration as plain JSON text, which the caller frees. Files of people hold comments; those are left out. */
char *ctl_limits_read(const char *path)
{
	struct json_tokener *tok = json_tokener_new_ex(CONFIG_DEPTH);
	struct json_object *json = NULL;
	char *text = NULL, *plain = NULL;
	struct err e;
	size_t len;

	text = file_read_named(path, CONFIG_BYTES_MAX, &len, &e);
	if (text == NULL) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		goto out;
	}
	json = json_tokener_parse_ex(tok, text, (int)len + 1);
	if (json_tokener_get_error(tok) != json_tokener_success || !json_object_is_type(json, json_type_object)) {
		fprintf(stderr, "camctl: %s: not a JSON object, near byte %zu: %s\n", path,
		    json_tokener_get_parse_end(tok), json_tokener_error_desc(json_tokener_get_error(tok)));
		goto out;
	}
	plain = strdup(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
out:
	json_object_put(json);
	json_tokener_free(tok);
	free(text);
	return plain;
}

int ctl_limits_load(struct ctl *ctl)
{
	char *config = ctl_limits_read(ctl->argv[0]);
	PGresult *result = NULL;
	int status = EXIT_FAILURE;

	if (config != NULL &&
	    ctl_query(ctl, "SELECT a->>'providers', a->>'models' FROM camserver.limits_load($1::jsonb) a", 1,
		(const char *[]){config}, &result) == 0) {
		printf("loaded: providers %s, models %s\n", PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1));
		status = EXIT_SUCCESS;
	}
	PQclear(result);
	free(config);
	return status;
}

int ctl_limits_show(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT model, provider, requests, requests_from, window_ms, window_ms_from, concurrent, concurrent_from, "
	    "shared,"
	    " tokens, running, waiting, refused_per_minute, pool FROM camserver.model_limits",
	    0, NULL);
}

int ctl_model_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT m.model, m.provider_id AS provider, p.kind, m.upstream_name, m.enabled, m.pool, p.base_url, "
	    "p.api_key_file"
	    " FROM camserver.models m JOIN camserver.providers p USING (provider_id) ORDER BY 2, 1",
	    0, NULL);
}

/* limits set global name=value... | provider NAME name=value... | model NAME name=value... */
int ctl_limits_set(struct ctl *ctl)
{
	bool global = strcmp(ctl->argv[0], "global") == 0;
	const char *name = global ? "" : ctl->argv[1];
	PGresult *result = NULL;
	char *changes = NULL;
	int status = EXIT_FAILURE;

	if (!global && strcmp(ctl->argv[0], "provider") != 0 && strcmp(ctl->argv[0], "model") != 0) {
		fprintf(stderr, "camctl: limits are set at: global, provider NAME, model NAME\n");
		return EXIT_FAILURE;
	}
	changes = ctl_changes(ctl, global ? 1 : 2);
	/* What comes as text: an empty value is null, the rest a number or a truth. */
	if (changes == NULL ||
	    ctl_query(ctl,
		"SELECT a->>'outcome', a->>'detail' FROM camserver.limits_set($1::camserver.limit_level, $2,"
		" (SELECT coalesce(jsonb_object_agg(key, CASE WHEN value ~ '^([0-9]{1,18}|true|false)$' THEN "
		"value::jsonb"
		" WHEN value IN ('', 'null', 'inherit') THEN 'null'::jsonb ELSE to_jsonb(value) END), '{}')"
		" FROM jsonb_each_text($3::jsonb))) a",
		3, (const char *[]){ctl->argv[0], name, changes}, &result) < 0)
		goto out;
	if (strcmp(PQgetvalue(result, 0, 0), "OK") != 0) {
		fprintf(stderr, "camctl: %s%s%s\n", PQgetvalue(result, 0, 0), PQgetisnull(result, 0, 1) ? "" : ": ",
		    PQgetvalue(result, 0, 1));
		goto out;
	}
	printf("limits of %s%s%s saved\n", ctl->argv[0], global ? "" : " ", name);
	status = EXIT_SUCCESS;
out:
	PQclear(result);
	free(changes);
	return status;
}
