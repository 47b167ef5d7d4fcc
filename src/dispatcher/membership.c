/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/membership.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "dispatcher/commit.h"
#include "dispatcher/job.h"
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_MS = 1000, PERMITS_BYTES_MAX = 1024 * 1024 };

static void registered(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->membership.asking = false;
	d->membership.registered = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
	d->membership.due = 0; /* the first heartbeat brings the tunables */
	if (d->membership.registered)
		log_info("registered as %s on host %s", d->id, d->conf.host_name);
	else
		log_warning("cannot register: %s", error);
}

static void read_rules(struct retention_rules *ret, struct json_object *rules)
{
	ret->n = 0;
	for (size_t i = 0; i < json_object_array_length(rules) && i < RETENTION_RULES_MAX; i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);
		const char *pattern = "", *class = "";

		(void)json_get_string(rule, "pattern", &pattern, NULL);
		(void)json_get_string(rule, "class", &class, NULL);
		snprintf(ret->rules[ret->n].pattern, sizeof ret->rules[0].pattern, "%s", pattern);
		ret->rules[ret->n++].quarantine = strcmp(class, "quarantine") == 0;
	}
}

/* Analyses run on workers of this pool from now on; "": on nodes. */
static void use_pool(struct dispatcher *d, const char *pool)
{
	if (!d->conf.enable_container_pooling)
		pool = "";
	if (strcmp(d->analyze.pool, pool) == 0)
		return;
	snprintf(d->analyze.pool, sizeof d->analyze.pool, "%s", pool);
	d->analyze.trouble = (struct node_state){0};
	log_info("analyses run on %s%s", *pool != '\0' ? "workers of pool " : "nodes", pool);
}

/* The tunables that come with a heartbeat. False if the database does not know this process. */
static bool read_tunables(struct dispatcher *d, const char *text)
{
	struct json_object *json = json_tokener_parse(text), *rules;
	int64_t stale_sec = 0, inflight = 0, archive_inflight = 0, permit_sec = 0;
	const char *pool = "";
	bool known = false;

	if (json == NULL)
		return false;
	(void)json_get_bool(json, "known", &known, NULL);
	(void)json_get_int64(json, "dispatcher_stale_sec", &stale_sec, NULL);
	(void)json_get_int64(json, "analyze_inflight", &inflight, NULL);
	(void)json_get_int64(json, "archive_inflight", &archive_inflight, NULL);
	(void)json_get_int64(json, "job_backoff_base_ms", &d->backoff_base_ms, NULL);
	(void)json_get_int64(json, "job_backoff_max_ms", &d->backoff_max_ms, NULL);
	(void)json_get_int64(json, "permit_ttl_sec", &permit_sec, NULL);
	(void)json_get_bool(json, "llm_known", &d->followups.llm_known, NULL);
	(void)json_get_string(json, "analyze_pool", &pool, NULL);
	use_pool(d, pool);
	if (json_object_object_get_ex(json, "retention_rules", &rules) && json_object_is_type(rules, json_type_array))
		read_rules(&d->retention, rules);
	if (permit_sec > 0 && permit_sec < stale_sec)
		stale_sec = permit_sec;
	if (stale_sec > 0)
		d->membership.interval_ms = stale_sec * 1000 / 3;
	if (inflight > 0)
		d->analyze.lane.inflight_max = (size_t)inflight;
	if (archive_inflight > 0)
		d->followups.lanes[FOLLOWUP_ARCHIVE].inflight_max = (size_t)archive_inflight;
	json_object_put(json);
	return known;
}

static void beaten(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->membership.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		log_warning("no heartbeat: %s", error);
		d->membership.due = clock_ms() + RETRY_MS;
		return;
	}
	if (!read_tunables(d, PQgetvalue(result, 0, 0))) {
		log_warning("the database does not know this dispatcher any more; registering again");
		d->membership.registered = false;
		d->membership.due = 0;
	}
}

static void register_now(struct dispatcher *d)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	d->membership.asking =
	    dbq_submit(d->db, "SELECT camserver.dispatcher_register($1, $2, $3, $4, $5)", 5,
		(const char *[]){d->id, d->conf.host_name, pid, PACKAGE_VERSION, d->conf.stream_server}, registered,
		d) == 0;
}

static void add_permits(struct buf *out, const struct lane *lane)
{
	for (const struct job *j = lane->jobs; j != NULL; j = j->next)
		if (j->permit[0] != '\0')
			buf_printf(out, ",%s", j->permit);
}

/* Says that this process lives, and names the permits of its calls: what it does not name runs out. */
static void heartbeat(struct dispatcher *d)
{
	struct buf permits;

	buf_init(&permits, PERMITS_BYTES_MAX);
	add_permits(&permits, &d->analyze.lane);
	add_permits(&permits, &d->followups.lanes[FOLLOWUP_ESCALATE]);
	commit_permits(d, &permits);
	buf_printf(&permits, "}");
	if (permits.data[0] == ',')
		permits.data[0] = '{';
	d->membership.asking =
	    dbq_submit(d->db, "SELECT camserver.dispatcher_heartbeat($1, $2::uuid[], $3, $4)", 4,
		(const char *[]){d->id, permits.data[0] == '{' && !permits.failed ? permits.data : "{}",
		    d->conf.llm_model, analyze_model(d)},
		beaten, d) == 0;
	buf_free(&permits);
}

static void node_configured(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	if (result != NULL && PQresultStatus(result) != PGRES_TUPLES_OK)
		log_error("IS21_BASE_URL: %s", error);
	d->membership.node_configured = result != NULL;
}

/* IS21_BASE_URL is a node like others; the default one only if there is no other. */
static void configure_node(struct dispatcher *d)
{
	char name[IDENT_MAX + 1];

	snprintf(name, sizeof name, "is21-%.*s", IDENT_MAX - 5, d->conf.host_name);
	for (char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr("_.-", *p) == NULL)
			*p = '-';
	d->membership.node_configured = true; /* unless it goes wrong */
	if (dbq_submit(d->db, "SELECT camserver.node_configure($1, $2, $3, $4)", 4,
		(const char *[]){name, d->conf.is21_base_url, analyze_model(d),
		    conf_is_default(&d->conf, "IS21_BASE_URL") ? "t" : "f"},
		node_configured, d) < 0)
		d->membership.node_configured = false;
}

int64_t membership_tick(struct dispatcher *d, int64_t now)
{
	if (d->membership.asking || d->membership.stopping || !dbq_connected(d->db))
		return now + RETRY_MS;
	if (d->membership.registered && !d->membership.node_configured)
		configure_node(d);
	if (now < d->membership.due)
		return d->membership.due;
	if (!d->membership.registered) {
		register_now(d);
		d->membership.due = now + RETRY_MS;
	} else {
		heartbeat(d);
		d->membership.due = now + d->membership.interval_ms;
	}
	return d->membership.due;
}

static void signed_off(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->membership.stopped = true;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("could not sign off: %s", error);
}

void membership_stop(struct dispatcher *d)
{
	d->membership.stopping = true;
	if (!d->membership.registered || !dbq_connected(d->db) ||
	    dbq_submit(d->db, "SELECT camserver.dispatcher_stop($1)", 1, (const char *[]){d->id}, signed_off, d) < 0)
		d->membership.stopped = true;
}
