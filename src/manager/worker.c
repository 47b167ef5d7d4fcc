/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/worker.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROBE_FIRST_MS = 20,
	PROBE_PAUSE_MAX_MS = 500,
	PROBE_MS = 2000,
	PROBE_ANSWER_MAX = 64 * 1024,
	KILL_AGAIN_MS = 2000,
	TELL_AGAIN_MS = 1000,
	GRACE_MS = 10000,
};

struct worker *worker_find(struct manager *m, const char *id)
{
	for (struct worker *w = m->workers; w != NULL; w = w->next)
		if (strcmp(w->id, id) == 0)
			return w;
	return NULL;
}

const char *worker_text(const struct worker *w, const char *name)
{
	const char *text = "";

	if (w->spec != NULL)
		(void)json_get_string(w->spec, name, &text, NULL);
	return text;
}

long worker_number(const struct worker *w, const char *name, long fallback)
{
	int64_t n = fallback;

	if (w->spec != NULL)
		(void)json_get_int64(w->spec, name, &n, NULL);
	return (long)n;
}

static struct worker *worker_new(struct manager *m, const char *id, const struct driver *driver)
{
	struct worker *w = calloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	snprintf(w->id, sizeof w->id, "%s", id);
	w->manager = m;
	w->driver = driver;
	w->pidfd = -1;
	w->grace_ms = GRACE_MS;
	w->next = m->workers;
	m->workers = w;
	return w;
}

static void worker_free(struct manager *m, struct worker *w)
{
	struct worker **at = &m->workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	http_cancel(w->probe);
	http_cancel(w->transfer);
	w->probe = w->transfer = NULL;
	w->driver->forget(m, w);
	json_object_put(w->spec);
	free(w);
}

void workers_free(struct manager *m)
{
	while (m->workers != NULL) {
		struct worker *w = m->workers;

		m->workers = w->next;
		json_object_put(w->spec);
		free(w);
	}
}

struct worker *worker_adopt(struct manager *m, const char *id, const struct driver *driver)
{
	struct worker *w = worker_new(m, id, driver);

	if (w != NULL)
		w->phase = WORKER_READY;
	return w;
}

void worker_begin(struct manager *m, struct json_object *spec)
{
	const char *id = "", *driver = "";
	int64_t token = 0;
	struct worker *w;
	struct err e;

	(void)json_get_string(spec, "worker_id", &id, NULL);
	(void)json_get_string(spec, "driver", &driver, NULL);
	(void)json_get_int64(spec, "token", &token, NULL);
	w = worker_new(m, id, strcmp(driver, driver_docker.name) == 0 ? &driver_docker : &driver_exec);
	if (w == NULL) {
		log_error("worker %s: out of memory", id); /* the next sync gives it up */
		return;
	}
	snprintf(w->token, sizeof w->token, "%" PRId64, token);
	w->spec = json_object_get(spec);
	w->phase = WORKER_STARTING;
	w->started = clock_ms();
	w->deadline = w->started + worker_number(w, "start_timeout_ms", 30000);
	w->grace_ms = worker_number(w, "stop_grace_ms", GRACE_MS);
	if (w->driver->start(m, w, &e) < 0)
		worker_start_failed(m, w, e.msg);
}

void worker_started(struct manager *m, struct worker *w)
{
	(void)m;
	if (w->phase != WORKER_STARTING)
		return;
	w->phase = WORKER_PROBING;
	w->probe_pause_ms = PROBE_FIRST_MS;
	w->probe_at = clock_ms() + PROBE_FIRST_MS;
}

static void told_failure(void *arg, PGresult *result, const char *error)
{
	struct worker *w = arg;

	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("worker %s: cannot tell that its start failed: %s", w->id, error);
}

/* The database hears at once, callers with it; what runs is stopped after that. If the database is away, the end of the
 * worker, which is told until it is heard, tells of the failed start as well. */
static void tell_failure(struct manager *m, struct worker *w, const char *why)
{
	log_warning("worker %s of pool %s: the start failed: %s", w->id, worker_text(w, "pool"), why);
	metrics_add(m->metrics, METRIC_WORKERS_FAILED);
	(void)dbq_submit(m->db, "SELECT camserver.worker_failed($1, $2, $3, $4)", 4,
	    (const char *[]){m->id, w->id, w->token, why}, told_failure, w);
}

void worker_start_failed(struct manager *m, struct worker *w, const char *why)
{
	if (w->phase > WORKER_PROBING)
		return;
	tell_failure(m, w, why);
	w->phase = WORKER_STOPPING;
	worker_ended(m, w, "it never ran", "");
}

static void told_ready(void *arg, PGresult *result, const char *error)
{
	struct worker *w = arg;

	w->telling = false;
	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK) {
		/* Not wanted any more? Then the next sync says so. */
		if (w->phase == WORKER_PROBING)
			w->phase = WORKER_READY;
		metrics_add(w->manager->metrics, METRIC_WORKERS_READY);
		return;
	}
	log_warning("worker %s: cannot tell that it is ready: %s", w->id, error);
	w->probe_at = clock_ms() + TELL_AGAIN_MS;
}

static void tell_ready(struct manager *m, struct worker *w)
{
	char port[16], ms[24];

	snprintf(port, sizeof port, "%d", w->port);
	snprintf(ms, sizeof ms, "%" PRId64, clock_ms() - w->started);
	w->telling =
	    dbq_submit(m->db, "SELECT camserver.worker_ready($1, $2, $3, $4, $5::integer, $6)", 6,
		(const char *[]){m->id, w->id, w->token, m->conf.worker_address, port, ms}, told_ready, w) == 0;
	if (!w->telling)
		w->probe_at = clock_ms() + TELL_AGAIN_MS;
	log_info("worker %s of pool %s answers after %s ms, port %s", w->id, worker_text(w, "pool"), ms, port);
}

/* A worker without an address for its health: whatever it answers shows that it is there. */
static bool any_answer_will_do(const struct worker *w)
{
	return strcmp(worker_text(w, "health_path"), "any") == 0;
}

static void probed(void *arg, const struct http_answer *answer)
{
	struct worker *w = arg;

	w->probe = NULL;
	if (w->phase != WORKER_PROBING)
		return;
	if ((answer->status >= 200 && answer->status < 300) || (answer->status != 0 && any_answer_will_do(w))) {
		tell_ready(w->manager, w);
		return;
	}
	if (answer->status != 0)
		snprintf(w->fault, sizeof w->fault, "%s answers %ld", worker_text(w, "health_path"), answer->status);
	else
		snprintf(w->fault, sizeof w->fault, "%s", answer->fault);
	w->probe_at = clock_ms() + w->probe_pause_ms;
	w->probe_pause_ms = w->probe_pause_ms * 2 > PROBE_PAUSE_MAX_MS ? PROBE_PAUSE_MAX_MS : w->probe_pause_ms * 2;
}

static void send_probe(struct manager *m, struct worker *w, int64_t now)
{
	int64_t left = w->deadline - now;
	struct http_request r = {.method = "GET", .answer_max = PROBE_ANSWER_MAX};
	char url[1024];

	snprintf(url, sizeof url, "http://%s:%d%s", m->conf.worker_address, w->port,
	    any_answer_will_do(w) ? "/" : worker_text(w, "health_path"));
	r.url = url;
	r.timeout_ms = (long)(left < PROBE_MS ? left : PROBE_MS);
	w->probe = http_start(m->http, &r, probed, w);
	w->probe_at = now + PROBE_PAUSE_MAX_MS;
}

void worker_stop(struct manager *m, struct worker *w, int64_t grace_ms)
{
	if (w->phase >= WORKER_STOPPING)
		return;
	http_cancel(w->probe);
	w->probe = NULL;
	w->phase = WORKER_STOPPING;
	w->kill_at = clock_ms() + grace_ms;
	if (grace_ms > 0)
		w->driver->stop(m, w);
}

static void told_end(void *arg, PGresult *result, const char *error)
{
	struct worker *w = arg;

	w->telling = false;
	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK) {
		metrics_add(w->manager->metrics, METRIC_WORKERS_ENDED);
		worker_free(w->manager, w);
		return;
	}
	log_warning("worker %s: cannot tell that it ended: %s", w->id, error);
	w->probe_at = clock_ms() + TELL_AGAIN_MS;
}

static void tell_end(struct manager *m, struct worker *w)
{
	w->telling = dbq_submit(m->db, "SELECT camserver.worker_gone($1, $2, $3)", 3,
			 (const char *[]){m->id, w->id, w->reason}, told_end, w) == 0;
	w->probe_at = clock_ms() + TELL_AGAIN_MS;
}

void worker_ended(struct manager *m, struct worker *w, const char *how, const char *tail)
{
	if (w->phase == WORKER_ENDED)
		return;
	http_cancel(w->probe);
	w->probe = NULL;
	snprintf(w->reason, sizeof w->reason, "%s%s%s", how, *tail != '\0' ? "; the end of its log:\n" : "", tail);
	if (w->phase == WORKER_STOPPING)
		log_info("worker %s ended: %s", w->id, how);
	else
		log_warning("worker %s ended by itself: %s", w->id, w->reason);
	w->phase = WORKER_ENDED;
	tell_end(m, w);
}

static int64_t tick_starting(struct manager *m, struct worker *w, int64_t now)
{
	char why[512];

	if (w->telling)
		return INT64_MAX;
	if (now >= w->deadline) {
		snprintf(why, sizeof why, "not ready within %ld ms: %s", worker_number(w, "start_timeout_ms", 0),
		    w->fault[0] != '\0' ? w->fault : "it was not even running");
		tell_failure(m, w, why);
		worker_stop(m, w, w->grace_ms);
		return now;
	}
	if (w->phase == WORKER_PROBING && w->probe == NULL && now >= w->probe_at)
		send_probe(m, w, now);
	return w->phase == WORKER_PROBING && w->probe == NULL && w->probe_at < w->deadline ? w->probe_at : w->deadline;
}

static int64_t tick(struct manager *m, struct worker *w, int64_t now)
{
	switch (w->phase) {
	case WORKER_STARTING:
	case WORKER_PROBING:
		return tick_starting(m, w, now);
	case WORKER_STOPPING:
		if (now >= w->kill_at) {
			if (!w->killed && w->grace_ms > 0 && !w->orphan)
				log_warning("worker %s does not end; killing it", w->id);
			w->killed = true;
			w->kill_at = now + KILL_AGAIN_MS;
			w->driver->kill(m, w);
		}
		return w->kill_at;
	case WORKER_ENDED:
		if (!w->telling && now >= w->probe_at && dbq_connected(m->db))
			tell_end(m, w);
		return w->probe_at > now ? w->probe_at : now + TELL_AGAIN_MS;
	case WORKER_READY:
		break;
	}
	return INT64_MAX;
}

int64_t workers_tick(struct manager *m, int64_t now)
{
	int64_t until = INT64_MAX;

	for (struct worker *w = m->workers, *next; w != NULL; w = next) {
		int64_t due;

		next = w->next; /* a driver may end w, never another */
		due = tick(m, w, now);
		until = due < until ? due : until;
	}
	return until;
}
