/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ctl.h"

#include "ctl/table.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ctl_lacks_password(const struct conf *conf)
{
	return access(conf->admin_passfile, R_OK) < 0 && errno == EACCES;
}

int ctl_query(struct ctl *ctl, const char *sql, int n, const char *const *params, PGresult **ret)
{
	struct err e;
	enum db_status status = db_query(ctl->db, sql, n, params, ret, &e);

	if (status == DB_OK)
		return 0;
	fprintf(stderr, "camctl: %s\n", e.msg);
	if (status == DB_DOWN && ctl_lacks_password(ctl->conf))
		fprintf(stderr, "Perhaps " CTL_NEEDS_ROOT ".\n");
	else if (status == DB_DOWN)
		fprintf(
		    stderr, "Is PostgreSQL running, and is ADMIN_DATABASE_URL right? `camctl config show` tells it.\n");
	else if (strcmp(db_sqlstate(ctl->db), "3F000") == 0 || strcmp(db_sqlstate(ctl->db), "42P01") == 0 ||
		 strcmp(db_sqlstate(ctl->db), "42883") == 0)
		fprintf(stderr, "The schema is missing or old: run `camctl db migrate`.\n");
	return -1;
}

int ctl_do(struct ctl *ctl, const char *sql, int n, const char *const *params)
{
	PGresult *result = NULL;

	if (ctl_query(ctl, sql, n, params, &result) < 0)
		return -1;
	PQclear(result);
	return 0;
}

int ctl_list(struct ctl *ctl, const char *sql, int n, const char *const *params)
{
	PGresult *result = NULL;

	if (ctl_query(ctl, sql, n, params, &result) < 0)
		return EXIT_FAILURE;
	if (ctl->json)
		table_print_json(result, stdout);
	else
		table_print(result, stdout);
	PQclear(result);
	return EXIT_SUCCESS;
}

char *ctl_changes(struct ctl *ctl, int first)
{
	struct json_object *json = json_object_new_object();
	char *text = NULL;

	for (int i = first; i < ctl->argc; i++) {
		char *equals = strchr(ctl->argv[i], '=');

		if (equals == NULL || equals == ctl->argv[i]) {
			fprintf(stderr, "camctl: \"%s\" is not of the form name=value\n", ctl->argv[i]);
			goto out;
		}
		*equals = '\0';
		json_object_object_add(json, ctl->argv[i], json_object_new_string(equals + 1));
	}
	text = strdup(json_object_to_json_string(json));
out:
	json_object_put(json);
	return text;
}

int ctl_save(struct ctl *ctl, const char *kind, const char *changes, bool must_be_new)
{
	const char *name = ctl->argv[0];
	PGresult *row = NULL;
	char sql[256];
	bool done;

	snprintf(sql, sizeof sql,
	    "SELECT camserver.%s_set($1, $2::jsonb) WHERE $3::boolean = NOT EXISTS (SELECT 1 FROM camserver.%ss"
	    " WHERE name = $1)",
	    kind, kind);
	if (ctl_query(ctl, sql, 3, (const char *[]){name, changes, must_be_new ? "t" : "f"}, &row) < 0)
		return EXIT_FAILURE;
	done = PQntuples(row) == 1;
	PQclear(row);
	if (done)
		printf("%s %s saved\n", kind, name);
	else if (must_be_new)
		fprintf(stderr, "camctl: there is a %s %s already; `camctl %s set` changes it\n", kind, name, kind);
	else
		fprintf(stderr, "camctl: there is no %s %s; `camctl %s add` makes it\n", kind, name, kind);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void take_out(struct ctl *ctl, int at, int n)
{
	for (int i = at; i + n < ctl->argc; i++)
		ctl->argv[i] = ctl->argv[i + n];
	ctl->argc -= n;
}

const char *ctl_option(struct ctl *ctl, const char *name, const char *fallback)
{
	for (int i = 0; i + 1 < ctl->argc; i++)
		if (strcmp(ctl->argv[i], name) == 0) {
			const char *value = ctl->argv[i + 1];

			take_out(ctl, i, 2);
			return value;
		}
	return fallback;
}

bool ctl_flag(struct ctl *ctl, const char *name)
{
	for (int i = 0; i < ctl->argc; i++)
		if (strcmp(ctl->argv[i], name) == 0) {
			take_out(ctl, i, 1);
			return true;
		}
	return false;
}

int ctl_number(struct ctl *ctl, const char *name, double fallback, double min, double max, double *ret)
{
	const char *text = ctl_option(ctl, name, NULL);
	char *end = NULL;
	double value = fallback;

	if (text != NULL) {
		errno = 0;
		value = strtod(text, &end);
		if (end == text || *end != '\0' || errno != 0 || !(value >= min && value <= max)) {
			fprintf(stderr, "camctl: %s must be a number from %.10g to %.10g, not \"%s\"\n", name, min, max,
			    text);
			return -1;
		}
	}
	*ret = value;
	return 0;
}

int ctl_left(const struct ctl *ctl, int n)
{
	for (int i = 0; i < ctl->argc; i++) {
		bool option = strncmp(ctl->argv[i], "--", 2) == 0;

		if (option || i >= n) {
			fprintf(stderr, "camctl: %s \"%s\"\n",
			    option ? "no such option, or no value after it:" : "unexpected argument", ctl->argv[i]);
			return -1;
		}
	}
	return 0;
}

int ctl_limit(struct ctl *ctl, char ret[CTL_LIMIT_LEN + 1])
{
	enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 1000000 };
	double limit;

	if (ctl_number(ctl, "--limit", LIMIT_DEFAULT, 1, LIMIT_MAX, &limit) < 0 || ctl_left(ctl, 0) < 0)
		return -1;
	snprintf(ret, CTL_LIMIT_LEN + 1, "%.0f", limit);
	return 0;
}
