/* SPDX-License-Identifier: Apache-2.0
 * camctl pool, camctl workers: worker pools and what runs in them. */
#include "common/json.h"
#include "ctl/ctl.h"
#include "ctl/sam_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ctl_pool_list(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT * FROM camserver.pool_status", 0, NULL);
}

int ctl_workers(struct ctl *ctl)
{
	const char *pool = ctl_option(ctl, "--pool", NULL);
	bool all = ctl_flag(ctl, "--all");

	if (ctl_left(ctl, 0) < 0)
		return EXIT_FAILURE;
	return ctl_list(ctl,
	    "SELECT * FROM camserver.worker_list WHERE ($1::text IS NULL OR pool = $1) AND ($2 OR state <> 'gone')", 2,
	    (const char *[]){pool, all ? "t" : "f"});
}

/* Calls a function that answers with jsonb; the object is the caller's. NULL after saying why on stderr. */
static struct json_object *call(struct ctl *ctl, const char *sql, int n, const char *const *params)
{
	struct json_object *answer;
	PGresult *row = NULL;

	if (ctl_query(ctl, sql, n, params, &row) < 0)
		return NULL;
	answer = json_tokener_parse(PQgetvalue(row, 0, 0));
	PQclear(row);
	return answer;
}

static const char *outcome_of(struct json_object *answer)
{
	const char *outcome = "";

	if (answer != NULL)
		(void)json_get_string(answer, "outcome", &outcome, NULL);
	return outcome;
}

int ctl_pool_show(struct ctl *ctl)
{
	struct json_object *answer = call(ctl, "SELECT camserver.pool_list($1)", 1, (const char *[]){ctl->argv[0]});
	int status = EXIT_FAILURE;

	if (strcmp(outcome_of(answer), "OK") == 0) {
		json_object_object_del(answer, "outcome");
		puts(json_object_to_json_string_ext(
		    answer, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
		status = EXIT_SUCCESS;
	} else if (answer != NULL) {
		fprintf(stderr, "camctl: there is no pool %s; `camctl pool list` shows them\n", ctl->argv[0]);
	}
	json_object_put(answer);
	return status;
}

static int change(struct ctl *ctl, bool must_be_new)
{
	char *changes = ctl_changes(ctl, 1);
	int status = changes != NULL ? ctl_save(ctl, "pool", changes, must_be_new) : EXIT_FAILURE;

	free(changes);
	return status;
}

int ctl_pool_add(struct ctl *ctl)
{
	return change(ctl, true);
}

int ctl_pool_set(struct ctl *ctl)
{
	return change(ctl, false);
}

int ctl_pool_drain(struct ctl *ctl)
{
	bool off = ctl_flag(ctl, "--off");

	if (ctl_left(ctl, 1) < 0)
		return EXIT_FAILURE;
	return ctl_save(ctl, "pool", off ? "{\"draining\": false}" : "{\"draining\": true}", false);
}

int ctl_pool_remove(struct ctl *ctl)
{
	struct json_object *answer = call(ctl, "SELECT camserver.pool_remove($1)", 1, (const char *[]){ctl->argv[0]});
	const char *outcome = outcome_of(answer);
	int64_t left = 0;
	int status = EXIT_FAILURE;

	if (strcmp(outcome, "OK") == 0) {
		printf("pool %s removed\n", ctl->argv[0]);
		status = EXIT_SUCCESS;
	} else if (strcmp(outcome, "DRAINING") == 0) {
		(void)json_get_int64(answer, "workers", &left, NULL);
		fprintf(stderr, "camctl: pool %s is draining; it still has %d workers. Try again in a moment.\n",
		    ctl->argv[0], (int)left);
	} else if (strcmp(outcome, "POOL_IN_USE") == 0) {
		fprintf(stderr, "camctl: pool %s serves models: %s. `camctl limits set model NAME pool=` frees it.\n",
		    ctl->argv[0], json_object_get_string(json_object_object_get(answer, "models")));
	} else if (answer != NULL) {
		fprintf(stderr, "camctl: there is no pool %s\n", ctl->argv[0]);
	}
	json_object_put(answer);
	return status;
}

int ctl_pool_import(struct ctl *ctl)
{
	char *more = ctl_changes(ctl, 1);
	struct json_object *functions = NULL;
	struct err e;
	int status = EXIT_FAILURE;

	if (more == NULL)
		return EXIT_FAILURE;
	functions = sam_template_read(ctl->argv[0], &e);
	if (functions == NULL) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		goto out;
	}
	/* A pool that is there gets the template's capacity; a new one all that is known of it. All or none. */
	status = ctl_list(ctl,
	    "SELECT f.key AS pool, (f.value->>'max_capacity')::integer AS capacity,"
	    " CASE WHEN camserver.pool_set(f.key, CASE WHEN p.name IS NULL THEN f.value || $2::jsonb"
	    " ELSE jsonb_build_object('max_capacity', f.value->'max_capacity') END) THEN 'new' ELSE 'changed' END AS "
	    "what"
	    " FROM jsonb_each($1::jsonb) f LEFT JOIN camserver.pools p ON p.name = f.key ORDER BY p.lock_id, f.key",
	    2, (const char *[]){json_object_to_json_string(functions), more});
	if (status != EXIT_SUCCESS)
		fprintf(
		    stderr, "Nothing was changed. A new pool needs command=... or image=... after the file's name.\n");
out:
	json_object_put(functions);
	free(more);
	return status;
}
