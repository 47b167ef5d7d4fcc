/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/reconcile.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "config.h"
#include "manager/driver_docker.h"
#include "manager/logfile.h"
#include "manager/worker.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SYNC_MS = 1000, REAP_MS = 1000, LOGS_MS = 60000, LIST_BYTES_MAX = 1024 * 1024 };

static void registered(void *arg, PGresult *result, const char *error)
{
	struct manager *m = arg;

	m->sync.asking = false;
	m->sync.registered = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
	m->sync.due = m->sync.registered ? 0 : clock_ms() + SYNC_MS;
	if (m->sync.registered)
		log_info("registered as %s on host %s", m->id, m->conf.host_name);
	else
		log_warning("cannot register: %s", error);
}

static void register_now(struct manager *m)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	m->sync.asking = dbq_submit(m->db, "SELECT camserver.manager_register($1, $2, $3, $4)", 4,
			     (const char *[]){m->id, m->conf.host_name, pid, PACKAGE_VERSION}, registered, m) == 0;
}

/* Nobody names it: it ends at once. */
static void kill_orphan(struct manager *m, const char *id)
{
	struct worker *w = worker_find(m, id);

	if (w == NULL || w->phase >= WORKER_STOPPING)
		return;
	log_warning("worker %s is nobody's: killing it", id);
	w->orphan = true;
	worker_stop(m, w, 0);
}

static void stop_one(struct manager *m, struct json_object *order)
{
	const char *id = "";
	int64_t grace_ms = 0;
	struct worker *w;

	(void)json_get_string(order, "worker_id", &id, NULL);
	(void)json_get_int64(order, "grace_ms", &grace_ms, NULL);
	w = worker_find(m, id);
	if (w != NULL)
		worker_stop(m, w, grace_ms);
}

static bool orphans_left(const struct manager *m)
{
	for (const struct worker *w = m->workers; w != NULL; w = w->next)
		if (w->orphan && w->phase != WORKER_ENDED)
			return true;
	return false;
}

static void follow(struct manager *m, struct json_object *answer)
{
	struct json_object *orphans = NULL, *stop = NULL, *start = NULL;

	json_object_object_get_ex(answer, "orphans", &orphans);
	json_object_object_get_ex(answer, "stop", &stop);
	json_object_object_get_ex(answer, "start", &start);
	for (size_t i = 0; orphans != NULL && i < json_object_array_length(orphans); i++)
		kill_orphan(m, json_object_get_string(json_object_array_get_idx(orphans, i)));
	for (size_t i = 0; stop != NULL && i < json_object_array_length(stop); i++)
		stop_one(m, json_object_array_get_idx(stop, i));
	for (size_t i = 0; start != NULL && i < json_object_array_length(start); i++)
		worker_begin(m, json_object_array_get_idx(start, i));
	if (!m->sync.purged && !orphans_left(m)) {
		m->sync.purged = true;
		m->sync.due = 0;
	}
}

static void synced(void *arg, PGresult *result, const char *error)
{
	struct manager *m = arg;
	struct json_object *answer;
	const char *outcome = "";

	m->sync.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		log_warning("cannot compare with the database: %s", error);
		return;
	}
	answer = json_tokener_parse(PQgetvalue(result, 0, 0));
	(void)json_get_string(answer, "outcome", &outcome, NULL);
	if (strcmp(outcome, "OK") == 0) {
		follow(m, answer);
	} else {
		log_warning("the database does not know this manager any more; registering again");
		m->sync.registered = false;
		m->sync.due = 0;
	}
	json_object_put(answer);
}

static void sync_now(struct manager *m)
{
	struct buf running;

	buf_init(&running, LIST_BYTES_MAX);
	buf_printf(&running, "{");
	for (const struct worker *w = m->workers; w != NULL; w = w->next)
		buf_printf(&running, "%s%s", running.len > 1 ? "," : "", w->id);
	buf_printf(&running, "}");
	/* Without pooling nothing is started, but what there is is looked after. */
	if (!running.failed)
		m->sync.asking =
		    dbq_submit(m->db, "SELECT camserver.manager_sync($1, $2::uuid[], $3::boolean, $4::text[])", 4,
			(const char *[]){m->id, running.data,
			    m->sync.purged && m->conf.enable_container_pooling && !m->sync.stopping ? "t" : "f",
			    docker_sees(m->docker) ? "{}" : "{docker}"},
			synced, m) == 0;
	buf_free(&running);
}

static void reaped(void *arg, PGresult *result, const char *error)
{
	struct manager *m = arg;

	m->sync.reaping = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("cannot reap: %s", error);
}

int64_t reconcile_tick(struct manager *m, int64_t now)
{
	if (now >= m->sync.logs_due) {
		logfile_prune(m->conf.worker_dir);
		m->sync.logs_due = now + LOGS_MS;
	}
	if (m->sync.asking || !dbq_connected(m->db) || !docker_tried(m->docker))
		return now + SYNC_MS;
	if (!m->sync.registered) {
		if (now >= m->sync.due)
			register_now(m);
		return m->sync.due > now ? m->sync.due : now + SYNC_MS;
	}
	if (!m->sync.reaping && now >= m->sync.reap_due) {
		m->sync.reaping = dbq_submit(m->db, "SELECT camserver.pool_reap()", 0, NULL, reaped, m) == 0;
		m->sync.reap_due = now + REAP_MS;
	}
	if (dbq_notified(m->ear))
		m->sync.due = 0;
	if (now >= m->sync.due) {
		m->sync.due = now + SYNC_MS;
		sync_now(m);
	}
	return m->sync.due < m->sync.reap_due ? m->sync.due : m->sync.reap_due;
}

static void signed_off(void *arg, PGresult *result, const char *error)
{
	struct manager *m = arg;

	m->sync.stopped = true;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("could not sign off: %s", error);
}

void reconcile_stop(struct manager *m)
{
	if (m->sync.stopped)
		return;
	if (!m->sync.registered || !dbq_connected(m->db) ||
	    dbq_submit(m->db, "SELECT camserver.manager_stop($1)", 1, (const char *[]){m->id}, signed_off, m) < 0)
		m->sync.stopped = true;
}
