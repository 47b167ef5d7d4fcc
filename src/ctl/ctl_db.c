/* SPDX-License-Identifier: Apache-2.0
 * camctl db: bring the schema of any age to the newest, in one transaction under a lock.
 * Migrations (tables) run once each and in order; functions, views and grants are applied anew every time, and
 * functions that the files no longer hold are dropped. */
#include "common/err.h"
#include "common/file.h"
#include "ctl/ctl.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQL_FILE_MAX = 1024 * 1024, MIGRATIONS_MAX = 9999, LOCK_CLASS_MIGRATE = 22000 };

static const char *sql_dir(void)
{
	const char *dir = getenv("CAMSERVER_SQL_DIR");

	return dir != NULL ? dir : PKGDATADIR "/sql";
}

static int run_sql(struct ctl *ctl, const char *sql, const char *what)
{
	PGresult *result = PQexec(db_conn(ctl->db), sql);
	bool good = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;

	if (!good)
		fprintf(stderr, "camctl: %s: %s", what, PQresultErrorMessage(result));
	PQclear(result);
	return good ? 0 : -1;
}

static int run_file(struct ctl *ctl, const char *directory, const char *name)
{
	char path[PATH_MAX];
	struct err e;
	char *text;
	size_t len;
	int result;

	snprintf(path, sizeof path, "%s/%s%s", sql_dir(), directory, name);
	text = file_read_named(path, SQL_FILE_MAX, &len, &e);
	if (text == NULL) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return -1;
	}
	result = run_sql(ctl, text, path);
	free(text);
	return result;
}

static int is_sql(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 4 && strcmp(d->d_name + len - 4, ".sql") == 0;
}

/* The names of a directory's SQL files in order; the caller frees them with free_names(). -1 on error. */
static int list_files(const char *directory, struct dirent ***ret)
{
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof path, "%s/%s", sql_dir(), directory);
	n = scandir(path, ret, is_sql, alphasort);
	if (n <= 0)
		fprintf(stderr, "camctl: %s: %s\nCAMSERVER_SQL_DIR can name another place.\n", path,
		    n < 0 ? strerror(errno) : "no SQL files there");
	return n > 0 ? n : -1;
}

static void free_names(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int run_directory(struct ctl *ctl, const char *directory)
{
	struct dirent **names = NULL;
	int n = list_files(directory, &names), result = n < 0 ? -1 : 0;

	for (int i = 0; i < n && result == 0; i++)
		result = run_file(ctl, directory, names[i]->d_name);
	free_names(names, n < 0 ? 0 : n);
	return result;
}

static int current_version(struct ctl *ctl, int *ret)
{
	PGresult *result = NULL;

	if (ctl_query(ctl, "SELECT coalesce(max(version), 0) FROM camserver.schema_migrations", 0, NULL, &result) < 0)
		return -1;
	*ret = atoi(PQgetvalue(result, 0, 0));
	PQclear(result);
	return 0;
}

int ctl_db_newest(void)
{
	struct dirent **names = NULL;
	int n = list_files("migrations/", &names), newest = n > 0 ? atoi(names[n - 1]->d_name) : -1;

	free_names(names, n < 0 ? 0 : n);
	return newest;
}

static int apply_migration(struct ctl *ctl, const char *name, int version)
{
	char number[16];

	printf("  %s\n", name);
	snprintf(number, sizeof number, "%d", version);
	if (run_file(ctl, "migrations/", name) < 0)
		return -1;
	return ctl_do(ctl, "INSERT INTO camserver.schema_migrations (version, name) VALUES ($1, $2)", 2,
	    (const char *[]){number, name});
}

static int apply_migrations(struct ctl *ctl, int up_to, int *ret_version)
{
	struct dirent **names = NULL;
	int n = list_files("migrations/", &names), version = 0, result = n < 0 ? -1 : 0;

	if (result == 0)
		result = current_version(ctl, &version);
	if (result == 0 && version > atoi(names[n - 1]->d_name)) {
		fprintf(stderr,
		    "camctl: the database is at version %d, these files end at %d; install the newer camserver\n",
		    version, atoi(names[n - 1]->d_name));
		result = -1;
	}
	for (int i = 0; i < n && result == 0; i++) {
		int number = atoi(names[i]->d_name);

		if (number <= version || number > up_to)
			continue;
		result = apply_migration(ctl, names[i]->d_name, number);
		version = number;
	}
	free_names(names, n < 0 ? 0 : n);
	*ret_version = version;
	return result;
}

static const char drop_views[] = "DO $$ DECLARE v record; BEGIN"
				 " FOR v IN SELECT oid::regclass AS name FROM pg_class"
				 " WHERE relnamespace = 'camserver'::regnamespace AND relkind = 'v'"
				 " LOOP EXECUTE format('DROP VIEW IF EXISTS %s CASCADE', v.name); END LOOP; END $$";

/* A function that this transaction did not write is one that the files no longer hold. */
static const char drop_stale_functions[] =
    "DO $$ DECLARE f record; BEGIN"
    " FOR f IN SELECT oid::regprocedure AS signature FROM pg_proc"
    " WHERE pronamespace = 'camserver'::regnamespace AND xmin <> pg_current_xact_id()::xid"
    " LOOP EXECUTE format('DROP FUNCTION %s CASCADE', f.signature); END LOOP; END $$";

static int migrate(struct ctl *ctl, int up_to, int *ret_version)
{
	char lock[64];

	snprintf(lock, sizeof lock, "SELECT pg_advisory_xact_lock(%d, 0)", LOCK_CLASS_MIGRATE);
	if (run_sql(ctl,
		"BEGIN; SET LOCAL client_min_messages = warning; SET LOCAL check_function_bodies = off;"
		" SET LOCAL statement_timeout = 0",
		"begin") < 0 ||
	    run_sql(ctl, lock, "lock") < 0 || run_file(ctl, "", "roles.sql") < 0 ||
	    run_sql(ctl, drop_views, "dropping views") < 0 || apply_migrations(ctl, up_to, ret_version) < 0)
		return -1;
	/* An older version, for tests of the way up, has only its tables. */
	if (up_to < MIGRATIONS_MAX)
		return run_sql(ctl, "COMMIT", "commit");
	if (run_directory(ctl, "functions/") < 0 || run_sql(ctl, drop_stale_functions, "dropping old functions") < 0 ||
	    run_directory(ctl, "views/") < 0 || run_file(ctl, "", "grants.sql") < 0)
		return -1;
	return run_sql(ctl, "COMMIT", "commit");
}

int ctl_db_migrate(struct ctl *ctl)
{
	const char *to = ctl_option(ctl, "--to", NULL);
	int version = 0;
	struct err e;

	if (ctl->argc > 0) {
		fprintf(stderr, "camctl: db migrate takes no argument \"%s\"\n", ctl->argv[0]);
		return EXIT_FAILURE;
	}
	if (db_connect(ctl->db, &e) != DB_OK) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	printf("Migrating database %s\n", PQdb(db_conn(ctl->db)));
	if (migrate(ctl, to != NULL ? atoi(to) : MIGRATIONS_MAX, &version) < 0) {
		if (db_conn(ctl->db) != NULL)
			run_sql(ctl, "ROLLBACK", "rollback");
		fprintf(stderr, "camctl: nothing was changed\n");
		return EXIT_FAILURE;
	}
	printf("The schema is at version %d\n", version);
	return EXIT_SUCCESS;
}

int ctl_db_status(struct ctl *ctl)
{
	struct dirent **names = NULL;
	PGresult *result = NULL;
	int n, version = 0, pending = 0;

	if (ctl_query(ctl,
		"SELECT current_database(), current_setting('server_version'), "
		"to_regclass('camserver.schema_migrations')",
		0, NULL, &result) < 0)
		return EXIT_FAILURE;
	printf("database %s on PostgreSQL %s\n", PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1));
	if (!PQgetisnull(result, 0, 2) && current_version(ctl, &version) < 0) {
		PQclear(result);
		return EXIT_FAILURE;
	}
	PQclear(result);
	n = list_files("migrations/", &names);
	for (int i = 0; i < n; i++) {
		bool applied = atoi(names[i]->d_name) <= version;

		pending += !applied;
		printf("  %-32s %s\n", names[i]->d_name, applied ? "applied" : "pending");
	}
	free_names(names, n < 0 ? 0 : n);
	if (pending > 0)
		printf("%d pending; `camctl db migrate` applies them\n", pending);
	return n < 0 || pending > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int ctl_db_reset(struct ctl *ctl)
{
	if (!ctl_flag(ctl, "--yes")) {
		fprintf(stderr,
		    "camctl: this deletes all data of camserver in the database; say `camctl db reset --yes`\n");
		return EXIT_FAILURE;
	}
	if (ctl_do(ctl, "DROP SCHEMA IF EXISTS camserver CASCADE", 0, NULL) < 0)
		return EXIT_FAILURE;
	printf("Schema camserver dropped\n");
	return ctl_db_migrate(ctl);
}
