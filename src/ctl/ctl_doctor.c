/* SPDX-License-Identifier: Apache-2.0
 * camctl doctor: is everything as it should be, and if not, what is to be done. These are the checks that ask the
 * database; doctor_host.c has those of the host. Exit status 1 if there is a problem. */
#include "common/clock.h"
#include "ctl/doctor.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TEXT_MAX = 1024,
	SKEW_WARNING_SEC = 1,
	SKEW_PROBLEM_SEC = 5,
	BACKLOG_SEC = 300,
	XMIN_SEC = 3600,
	CONNECT_MS = 5000
};

static const char *const level_words[] = {
    [FINDING_OK] = "ok", [FINDING_WARNING] = "warning", [FINDING_PROBLEM] = "problem"};

void found(struct doctor *d, enum finding level, const char *check, const char *fix, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	text[strcspn(text, "\n")] = '\0';
	d->warnings += level == FINDING_WARNING;
	d->problems += level == FINDING_PROBLEM;
	if (d->findings != NULL) {
		struct json_object *row = json_object_new_object();

		json_object_object_add(row, "check", json_object_new_string(check));
		json_object_object_add(row, "level", json_object_new_string(level_words[level]));
		json_object_object_add(row, "finding", json_object_new_string(text));
		json_object_object_add(row, "fix", fix != NULL ? json_object_new_string(fix) : NULL);
		json_object_array_add(d->findings, row);
		return;
	}
	printf("%-8s %-12s %s\n", level == FINDING_PROBLEM ? "PROBLEM" : level_words[level], check, text);
	if (fix != NULL)
		printf("%-8s %-12s fix: %s\n", "", "", fix);
}

/* NULL and a finding if the database does not answer as it should. */
static PGresult *ask(struct doctor *d, const char *check, const char *sql)
{
	PGresult *result = NULL;
	struct err e;

	if (db_query(d->ctl->db, sql, 0, NULL, &result, &e) == DB_OK)
		return result;
	found(d, FINDING_PROBLEM, check, "bring the schema and its grants up to date: camctl db migrate", "%s", e.msg);
	return NULL;
}

static double number(const PGresult *r, int row, int column)
{
	return strtod(PQgetvalue(r, row, column), NULL);
}

static void check_database(struct doctor *d)
{
	PGresult *r = NULL;
	struct err e;

	d->database = db_query(d->ctl->db, "SELECT current_database(), current_setting('server_version'), current_user",
			  0, NULL, &r, &e) == DB_OK;
	if (!d->database) {
		found(d, FINDING_PROBLEM, "database",
		    ctl_lacks_password(d->ctl->conf) ? CTL_NEEDS_ROOT
						     : "start it (systemctl start postgresql), or correct "
						       "DATABASE_URL; `camctl config show` tells its "
						       "value",
		    "%s", e.msg);
		return;
	}
	found(d, FINDING_OK, "database", NULL, "%s on PostgreSQL %s, as %s", PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1),
	    PQgetvalue(r, 0, 2));
	PQclear(r);
}

/* Whether each service's role gets in with the password that it is given. Only root can read those; elsewhere there are
 * none. */
static void check_roles(struct doctor *d)
{
	static const char *const roles[] = {"api", "dispatcher", "manager"};
	const char *admin = d->ctl->conf->admin_passfile, *slash = strrchr(admin, '/');
	int tried = 0, bad = 0;

	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		char path[PATH_MAX], user[64];
		struct db *db;
		struct err e;

		snprintf(path, sizeof path, "%.*s/%s.pgpass", (int)(slash - admin), admin, roles[i]);
		snprintf(user, sizeof user, "camserver_%s", roles[i]);
		if (access(path, R_OK) != 0)
			continue;
		setenv("PGUSER", user, 1);
		setenv("PGPASSFILE", path, 1);
		db = db_new(d->ctl->conf->database_url, "camctl doctor", CONNECT_MS);
		tried++;
		if (db != NULL && db_connect(db, &e) != DB_OK) {
			found(d, FINDING_PROBLEM, "roles", "dpkg-reconfigure camserver sets roles and passwords again",
			    "%s cannot connect: %s", user, e.msg);
			bad++;
		}
		db_free(db);
	}
	if (tried > 0 && bad == 0)
		found(d, FINDING_OK, "roles", NULL, "all services can connect");
}

static void check_schema(struct doctor *d)
{
	int newest = ctl_db_newest(), version;
	PGresult *r = NULL;
	struct err e;

	if (newest < 0)
		return;
	if (db_query(d->ctl->db, "SELECT coalesce(max(version), 0) FROM camserver.schema_migrations", 0, NULL, &r,
		&e) != DB_OK) {
		found(d, FINDING_PROBLEM, "schema", "camctl db migrate", "there is no camserver schema: %s", e.msg);
		return;
	}
	version = atoi(PQgetvalue(r, 0, 0));
	PQclear(r);
	if (version < newest)
		found(d, FINDING_PROBLEM, "schema", "camctl db migrate",
		    "the schema is old: version %d, this camserver is made for %d", version, newest);
	else if (version > newest)
		found(d, FINDING_PROBLEM, "schema", "install the newer camserver on this host, too",
		    "the schema is newer (version %d) than this camserver (%d)", version, newest);
	else
		found(d, FINDING_OK, "schema", NULL, "version %d", version);
}

/* The answer was made between asking and hearing: what is outside of that is skew. */
static void check_clock(struct doctor *d)
{
	struct timespec before, after;
	double from, to, theirs, skew = 0;
	PGresult *r;

	clock_gettime(CLOCK_REALTIME, &before);
	r = ask(d, "clock", "SELECT extract(epoch FROM clock_timestamp())");
	clock_gettime(CLOCK_REALTIME, &after);
	if (r == NULL)
		return;
	from = (double)before.tv_sec + (double)before.tv_nsec / 1e9;
	to = (double)after.tv_sec + (double)after.tv_nsec / 1e9;
	theirs = number(r, 0, 0);
	PQclear(r);
	if (theirs < from)
		skew = from - theirs;
	else if (theirs > to)
		skew = to - theirs;
	if (fabs(skew) < SKEW_WARNING_SEC)
		found(d, FINDING_OK, "clock", NULL, "agrees with the database's");
	else
		found(d, fabs(skew) < SKEW_PROBLEM_SEC ? FINDING_WARNING : FINDING_PROBLEM, "clock",
		    "let both hosts keep time: apt-get install systemd-timesyncd (or chrony), then timedatectl",
		    "this host's clock is %.1f s %s the database's", fabs(skew), skew > 0 ? "ahead of" : "behind");
}

/* A dead process counts only where no other one of its host has taken over. */
static void check_dispatchers(struct doctor *d)
{
	PGresult *r = ask(d, "dispatcher",
	    "SELECT count(*) FILTER (WHERE state = 'alive'), coalesce(string_agg(DISTINCT host, ', ') FILTER (WHERE"
	    " state = 'dead' AND NOT EXISTS (SELECT 1 FROM camserver.dispatcher_list a WHERE a.host = l.host AND"
	    " a.state = 'alive')), ''), count(DISTINCT host) FILTER (WHERE state = 'alive')"
	    " FROM camserver.dispatcher_list l");

	if (r == NULL)
		return;
	if (*PQgetvalue(r, 0, 1) != '\0')
		found(d, FINDING_PROBLEM, "dispatcher",
		    "on that host: systemctl restart cam-dispatcher; journalctl -u cam-dispatcher says why it stopped",
		    "stale: the dispatcher of %s has not been heard of", PQgetvalue(r, 0, 1));
	if (atoi(PQgetvalue(r, 0, 0)) == 0)
		found(d, FINDING_PROBLEM, "dispatcher", "systemctl start cam-dispatcher",
		    "none runs: no frame is analysed and no dead lease is ended");
	else
		found(d, FINDING_OK, "dispatcher", NULL, "%s alive on %s hosts", PQgetvalue(r, 0, 0),
		    PQgetvalue(r, 0, 2));
	PQclear(r);
}

static void check_jobs(struct doctor *d)
{
	PGresult *r = ask(d, "jobs",
	    "SELECT coalesce(sum(jobs) FILTER (WHERE status = 'dead'), 0), coalesce(sum(jobs) FILTER (WHERE status ="
	    " 'queued'), 0), coalesce(max(oldest_age_sec) FILTER (WHERE status = 'queued'), 0) FROM camserver.queue");

	if (r == NULL)
		return;
	if (atoi(PQgetvalue(r, 0, 0)) > 0)
		found(d, FINDING_PROBLEM, "jobs",
		    "see why: camctl jobs --status dead; when that is mended: camctl jobs retry --all-dead",
		    "%s dead jobs", PQgetvalue(r, 0, 0));
	if (number(r, 0, 2) > BACKLOG_SEC)
		found(d, FINDING_WARNING, "jobs",
		    "run more dispatchers or faster nodes, or set job_max_age_sec to let old frames go: camctl setting "
		    "list",
		    "%s jobs wait, the oldest since %.0f s", PQgetvalue(r, 0, 1), number(r, 0, 2));
	else if (atoi(PQgetvalue(r, 0, 0)) == 0)
		found(d, FINDING_OK, "jobs", NULL, "%s wait, none is dead", PQgetvalue(r, 0, 1));
	PQclear(r);
}

static void check_sweeps(struct doctor *d)
{
	PGresult *r = ask(d, "sweeps",
	    "SELECT name, coalesce(last_error, ''), coalesce(age_sec, 0) FROM camserver.sweep_list WHERE coalesce("
	    "last_error, '') <> '' OR (last_run_at IS NOT NULL AND age_sec > 10 * interval_sec + 60) ORDER BY 1");

	if (r == NULL)
		return;
	for (int i = 0; i < PQntuples(r); i++)
		found(d, FINDING_WARNING, "sweeps",
		    "journalctl -u cam-dispatcher; in psql: SELECT * FROM camserver.sweep_list",
		    "the periodic work \"%s\" %s%s", PQgetvalue(r, i, 0),
		    *PQgetvalue(r, i, 1) != '\0' ? "fails: " : "is overdue", PQgetvalue(r, i, 1));
	if (PQntuples(r) == 0)
		found(d, FINDING_OK, "sweeps", NULL, "the periodic work is done");
	PQclear(r);
}

static void check_transactions(struct doctor *d)
{
	char sql[256];
	PGresult *r;

	snprintf(sql, sizeof sql,
	    "SELECT source, coalesce(application_name, ''), coalesce(pid, 0), coalesce(age_sec, 0) FROM"
	    " camserver.xmin_age WHERE age_sec > %d OR age_xids > 10000000 LIMIT 3",
	    XMIN_SEC);
	r = ask(d, "vacuum", sql);
	if (r == NULL)
		return;
	for (int i = 0; i < PQntuples(r); i++)
		found(d, FINDING_WARNING, "vacuum",
		    "end it (SELECT pg_terminate_backend(pid)) or drop the slot: old row versions pile up meanwhile",
		    "%s \"%s\" (pid %s) has been open for %s s", PQgetvalue(r, i, 0), PQgetvalue(r, i, 1),
		    PQgetvalue(r, i, 2), PQgetvalue(r, i, 3));
	if (PQntuples(r) == 0)
		found(d, FINDING_OK, "vacuum", NULL, "no old transaction keeps rows from being cleaned up");
	PQclear(r);
}

static void check_health(struct doctor *d)
{
	PGresult *r = ask(d, "load",
	    "SELECT host, level, coalesce(reason, '') FROM camserver.health WHERE level <> 'normal'"
	    " AND (level <> 'stale' OR sample_age_sec < 86400)");

	if (r == NULL)
		return;
	for (int i = 0; i < PQntuples(r); i++)
		found(d, FINDING_WARNING, "load",
		    strcmp(PQgetvalue(r, i, 1), "stale") == 0
			? "on that host: systemctl restart cam-dispatcher, which samples it"
			: "find what loads the host, or give its work to another; new streams are refused while it is "
			  "overloaded",
		    "host %s: %s %s", PQgetvalue(r, i, 0), PQgetvalue(r, i, 1), PQgetvalue(r, i, 2));
	if (PQntuples(r) == 0)
		found(d, FINDING_OK, "load", NULL, "no host is overloaded");
	PQclear(r);
}

static void check_pools(struct doctor *d)
{
	PGresult *r;

	if (!d->ctl->conf->enable_container_pooling)
		return;
	r = ask(d, "pools",
	    "SELECT (SELECT count(*) FROM camserver.pool_status), (SELECT count(*) FROM camserver.manager_list WHERE"
	    " state = 'alive'), (SELECT coalesce(string_agg(name || ': ' || coalesce(error, ''), '; '), '') FROM"
	    " camserver.pool_status WHERE state = 'failing')");
	if (r == NULL)
		return;
	if (atoi(PQgetvalue(r, 0, 0)) > 0 && atoi(PQgetvalue(r, 0, 1)) == 0)
		found(d, FINDING_PROBLEM, "pools", "systemctl start cam-manager",
		    "%s worker pools, and no cam-manager to run them", PQgetvalue(r, 0, 0));
	else if (*PQgetvalue(r, 0, 2) != '\0')
		found(d, FINDING_WARNING, "pools", "camctl pool show NAME shows the end of the worker's log",
		    "workers do not start: %s", PQgetvalue(r, 0, 2));
	else
		found(d, FINDING_OK, "pools", NULL, "%s, managers alive: %s", PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1));
	PQclear(r);
}

static void check_nodes(struct doctor *d)
{
	PGresult *r = ask(d, "nodes",
	    "SELECT name, base_url, coalesce(reason, 'it fails') FROM camserver.node_list WHERE state = 'ejected'");

	if (r == NULL)
		return;
	for (int i = 0; i < PQntuples(r); i++)
		found(d, FINDING_WARNING, "nodes", "look at that node; camctl node list shows how the programs find it",
		    "node %s (%s) is ejected: %s", PQgetvalue(r, i, 0), PQgetvalue(r, i, 1), PQgetvalue(r, i, 2));
	PQclear(r);
}

static void check_channels(struct doctor *d)
{
	PGresult *r =
	    ask(d, "notify", "SELECT name, dead FROM camserver.channel_list WHERE enabled AND dead > 0 ORDER BY name");

	if (r == NULL)
		return;
	for (int i = 0; i < PQntuples(r); i++)
		found(d, FINDING_WARNING, "notify",
		    "camctl notifications --state dead says why; camctl channel test NAME tries it",
		    "channel %s could not deliver %s messages", PQgetvalue(r, i, 0), PQgetvalue(r, i, 1));
	PQclear(r);
}

static void (*const database_checks[])(struct doctor *d) = {check_clock, check_dispatchers, check_jobs, check_sweeps,
    check_transactions, check_health, check_nodes, check_pools, check_channels};

static void (*const inside_checks[])(struct doctor *d) = {
    doctor_spool, doctor_archive, doctor_sockets, doctor_media_key};

static void (*const outside_checks[])(struct doctor *d) = {doctor_node, doctor_web_server};

int ctl_doctor(struct ctl *ctl)
{
	struct doctor d = {.ctl = ctl};
	int before;

	if (ctl->json)
		d.findings = json_object_new_array();
	doctor_user(&d);
	check_database(&d);
	before = d.problems;
	if (d.database)
		check_schema(&d);
	/* With another schema the other questions make no sense. */
	if (d.database && d.problems == before)
		for (size_t i = 0; i < sizeof database_checks / sizeof *database_checks; i++)
			database_checks[i](&d);
	for (size_t i = 0; !d.outsider && i < sizeof inside_checks / sizeof *inside_checks; i++)
		inside_checks[i](&d);
	for (size_t i = 0; i < sizeof outside_checks / sizeof *outside_checks; i++)
		outside_checks[i](&d);
	/* Last, since it changes what libpq takes for granted. */
	if (d.database)
		check_roles(&d);
	if (d.findings != NULL)
		printf("%s\n", json_object_to_json_string_ext(d.findings, JSON_C_TO_STRING_PRETTY));
	else
		printf("\n%d problem%s, %d warning%s\n", d.problems, d.problems == 1 ? "" : "s", d.warnings,
		    d.warnings == 1 ? "" : "s");
	json_object_put(d.findings);
	return d.problems > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
