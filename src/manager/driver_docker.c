/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/driver_docker.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "manager/docker_api.h"
#include "manager/driver_exec.h"
#include "manager/logfile.h"
#include "manager/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CALL_MS = 30000,
	LIST_MS = 10000,      /* events tell of most things at once; this finds the rest */
	LIST_AGAIN_MS = 1000, /* while the engine is away */
	EVENT_BYTES_MAX = 64 * 1024,
	LOG_LINES = 20,
	PATH_BYTES = 256,
};

struct docker {
	struct manager *manager;
	struct http_transfer *list, *events;
	struct buf line; /* an event that has not yet come in whole */
	bool tried, sees;
	int64_t list_due, events_due;
	char fault[512];
};

struct docker *docker_new(struct manager *m)
{
	struct docker *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	d->manager = m;
	buf_init(&d->line, EVENT_BYTES_MAX);
	return d;
}

void docker_free(struct docker *d)
{
	if (d == NULL)
		return;
	http_cancel(d->list);
	http_cancel(d->events);
	buf_free(&d->line);
	free(d);
}

bool docker_tried(const struct docker *d)
{
	return d->tried;
}

bool docker_sees(const struct docker *d)
{
	return d->sees;
}

static void container_path(const struct worker *w, const char *what, char ret[PATH_BYTES])
{
	snprintf(ret, PATH_BYTES, "/containers/%s%s", w->container, what);
}

/* --- the end: how, what its log says, and away with it */

static void removed(void *arg, const struct http_answer *a)
{
	struct worker *w = arg;
	char fault[512], tail[LOG_TAIL_MAX + 1];

	w->transfer = NULL;
	w->burying = false;
	if (a->status != 204 && a->status != 200 && a->status != 404) {
		docker_fault(a, fault, sizeof fault);
		log_warning("worker %s: its container cannot be removed yet: %s", w->id, fault);
		return; /* tried again by the next kill, or when the containers are looked at */
	}
	w->container[0] = '\0';
	snprintf(tail, sizeof tail, "%.*s", LOG_TAIL_MAX, w->reason); /* of which worker_ended() makes the whole */
	worker_ended(w->manager, w, w->fault, tail);
}

static void remove_container(struct worker *w)
{
	char path[PATH_BYTES];

	container_path(w, "?force=true&v=true", path);
	w->transfer = docker_call(w->manager, "DELETE", path, NULL, CALL_MS, removed, w);
	if (w->transfer == NULL)
		w->burying = false;
}

static void logs_read(void *arg, const struct http_answer *a)
{
	struct worker *w = arg;

	w->transfer = NULL;
	docker_log_text(a, w->reason, LOG_TAIL_MAX + 1);
	remove_container(w);
}

static void inspected(void *arg, const struct http_answer *a)
{
	struct worker *w = arg;
	char path[PATH_BYTES], query[64];

	w->transfer = NULL;
	if (a->status == 404) {
		snprintf(w->fault, sizeof w->fault, "its container is gone");
		w->reason[0] = '\0';
		remove_container(w);
		return;
	}
	if (a->status != 200) {
		w->burying = false;
		return;
	}
	docker_describe_end(a, w->oom, w->fault, sizeof w->fault);
	snprintf(query, sizeof query, "/logs?stdout=true&stderr=true&tail=%d", LOG_LINES);
	container_path(w, query, path);
	w->transfer = docker_call(w->manager, "GET", path, NULL, CALL_MS, logs_read, w);
	if (w->transfer == NULL)
		w->burying = false;
}

/* Whatever else was being done to it is given up. */
static void bury(struct manager *m, struct worker *w)
{
	char path[PATH_BYTES];

	if (w->burying || w->container[0] == '\0' || w->phase == WORKER_ENDED)
		return;
	http_cancel(w->transfer);
	w->burying = true;
	container_path(w, "/json", path);
	w->transfer = docker_call(m, "GET", path, NULL, CALL_MS, inspected, w);
	if (w->transfer == NULL)
		w->burying = false;
}

/* --- the start */

static void run_failed(struct worker *w, const struct http_answer *a)
{
	char fault[512];

	docker_fault(a, fault, sizeof fault);
	worker_start_failed(w->manager, w, fault); /* forget() removes what there is of the container */
}

static void was_run(void *arg, const struct http_answer *a)
{
	struct worker *w = arg;

	w->transfer = NULL;
	if (a->status != 204 && a->status != 200 && a->status != 304) {
		run_failed(w, a);
		return;
	}
	log_info("worker %s of pool %s started as container %.12s", w->id, worker_text(w, "pool"), w->container);
	worker_started(w->manager, w);
}

static void created(void *arg, const struct http_answer *a)
{
	struct worker *w = arg;
	struct json_object *body = a->status == 201 ? json_tokener_parse(a->body) : NULL;
	char path[PATH_BYTES];
	const char *id = "";

	w->transfer = NULL;
	if (json_object_is_type(body, json_type_object))
		(void)json_get_string(body, "Id", &id, NULL);
	snprintf(w->container, sizeof w->container, "%s", id);
	json_object_put(body);
	if (w->container[0] == '\0') {
		if (w->phase == WORKER_STARTING)
			run_failed(w, a);
		else
			worker_ended(w->manager, w, "it never ran", "");
		return;
	}
	if (w->phase != WORKER_STARTING) { /* not wanted any more */
		bury(w->manager, w);
		return;
	}
	container_path(w, "/start", path);
	w->transfer = docker_call(w->manager, "POST", path, NULL, CALL_MS, was_run, w);
}

static int docker_start(struct manager *m, struct worker *w, struct err *e)
{
	struct json_object *body;
	char path[PATH_BYTES];

	if (!m->docker->sees)
		return err_set(e, "the container engine at %s: %s", m->conf.docker_socket, m->docker->fault);
	if ((w->port = exec_free_port(m, e)) < 0)
		return -1;
	body = docker_create_body(m, w);
	snprintf(path, sizeof path, "/containers/create?name=camserver-%s", w->id);
	w->transfer = docker_call(
	    m, "POST", path, json_object_to_json_string_ext(body, JSON_C_TO_STRING_NOSLASHESCAPE), CALL_MS, created, w);
	json_object_put(body);
	return w->transfer != NULL ? 0 : err_set(e, "out of memory");
}

/* --- stopping */

static void was_stopped(void *arg, const struct http_answer *a)
{
	struct worker *w = arg;

	w->transfer = NULL;
	if (a->status == 204 || a->status == 304 || a->status == 404)
		bury(w->manager, w);
	else
		w->kill_at = 0; /* the engine could not; so by force */
}

static void docker_stop(struct manager *m, struct worker *w)
{
	char path[PATH_BYTES], query[32];

	if (w->container[0] == '\0' || w->burying)
		return;
	http_cancel(w->transfer);
	snprintf(query, sizeof query, "/stop?t=%lld", (long long)((w->kill_at - clock_ms() + 999) / 1000));
	container_path(w, query, path);
	/* The engine itself sends SIGTERM and, after t seconds, SIGKILL. */
	w->kill_at += CALL_MS;
	w->transfer = docker_call(m, "POST", path, NULL, (long)(w->kill_at - clock_ms()), was_stopped, w);
}

static void docker_forget(struct manager *m, struct worker *w);

const struct driver driver_docker = {"docker", docker_start, docker_stop, bury, docker_forget};

static void forgotten(void *arg, const struct http_answer *a)
{
	(void)arg;
	(void)a; /* if it did not work, the container is found again when all are looked at */
}

static void docker_forget(struct manager *m, struct worker *w)
{
	char path[PATH_BYTES];

	if (w->container[0] == '\0')
		return;
	container_path(w, "?force=true&v=true", path);
	(void)docker_call(m, "DELETE", path, NULL, CALL_MS, forgotten, m);
}

/* --- what there is */

static void look_at(struct docker *d, struct json_object *container)
{
	const char *id = "", *worker = "", *state = "";
	struct json_object *labels = NULL;
	struct worker *w;

	(void)json_get_string(container, "Id", &id, NULL);
	(void)json_get_string(container, "State", &state, NULL);
	if (json_object_object_get_ex(container, "Labels", &labels))
		(void)json_get_string(labels, "camserver.worker", &worker, NULL);
	if (*id == '\0' || strlen(id) > CONTAINER_ID_MAX || !ident_is_uuid(worker))
		return;
	w = worker_find(d->manager, worker);
	if (w == NULL) {
		w = worker_adopt(d->manager, worker, &driver_docker);
		if (w == NULL)
			return;
		log_info("found worker %s, container %.12s (%s)", worker, id, state);
		snprintf(w->container, sizeof w->container, "%s", id);
	}
	w->listed = true;
	if (w->phase >= WORKER_PROBING && (strcmp(state, "exited") == 0 || strcmp(state, "dead") == 0 ||
					      strcmp(state, "created") == 0 || strcmp(state, "stopped") == 0))
		bury(d->manager, w);
}

static void look_at_all(struct docker *d, struct json_object *list)
{
	for (struct worker *w = d->manager->workers; w != NULL; w = w->next)
		w->listed = w->driver != &driver_docker || w->phase < WORKER_PROBING || w->container[0] == '\0';
	for (size_t i = 0; i < json_object_array_length(list); i++)
		look_at(d, json_object_array_get_idx(list, i));
	for (struct worker *w = d->manager->workers; w != NULL; w = w->next)
		if (!w->listed)
			bury(d->manager, w); /* which finds out whether it is really gone */
}

static void listed(void *arg, const struct http_answer *a)
{
	struct docker *d = arg;
	struct json_object *list = a->status == 200 ? json_tokener_parse(a->body) : NULL;
	bool saw = d->sees;

	d->list = NULL;
	d->tried = true;
	d->sees = json_object_is_type(list, json_type_array);
	d->list_due = clock_ms() + (d->sees ? LIST_MS : LIST_AGAIN_MS);
	if (d->sees) {
		if (!saw)
			log_info("the container engine at %s answers", d->manager->conf.docker_socket);
		look_at_all(d, list);
	} else {
		docker_fault(a, d->fault, sizeof d->fault);
		if (saw)
			log_warning("%s", d->fault);
	}
	json_object_put(list);
}

/* --- events */

static void take_event(struct docker *d, const char *line)
{
	struct json_object *event = json_tokener_parse(line), *actor = NULL;
	const char *action = "", *id = "";

	if (json_object_is_type(event, json_type_object)) {
		(void)json_get_string(event, "Action", &action, NULL);
		if (json_object_object_get_ex(event, "Actor", &actor))
			(void)json_get_string(actor, "ID", &id, NULL);
	}
	if (strncmp(action, "die", 3) == 0 || strcmp(action, "oom") == 0) {
		for (struct worker *w = d->manager->workers; w != NULL; w = w->next) {
			if (w->driver != &driver_docker || *id == '\0' || strcmp(w->container, id) != 0)
				continue;
			w->died = true; /* curl allows no new transfer in here */
			w->oom = w->oom || strcmp(action, "oom") == 0;
			break;
		}
	}
	json_object_put(event);
}

static void take_piece(void *arg, const char *data, size_t len)
{
	struct docker *d = arg;

	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t n = end != NULL ? (size_t)(end - data) : len;

		if (buf_append(&d->line, data, n) < 0)
			buf_reset(&d->line);
		if (end == NULL)
			return;
		if (d->line.len > 0)
			take_event(d, d->line.data);
		buf_reset(&d->line);
		data += n + 1;
		len -= n + 1;
	}
}

static void events_ended(void *arg, const struct http_answer *a)
{
	struct docker *d = arg;

	(void)a;
	d->events = NULL;
	d->events_due = clock_ms() + LIST_AGAIN_MS;
	d->list_due = 0; /* something may have been missed */
	buf_reset(&d->line);
}

static void open_events(struct docker *d)
{
	struct http_request r = {.method = "GET", .unix_socket = d->manager->conf.docker_socket, .piece = take_piece};
	char *path = docker_path_events(d->manager), *url = NULL;

	if (path != NULL && asprintf(&url, "http://docker%s", path) > 0) {
		r.url = url;
		d->events = http_start(d->manager->http, &r, events_ended, d);
	}
	free(url);
	free(path);
}

int64_t docker_tick(struct manager *m, int64_t now)
{
	struct docker *d = m->docker;

	if (d->list == NULL && now >= d->list_due) {
		char *path = docker_path_list(m);

		d->list_due = now + LIST_MS;
		if (path != NULL)
			d->list = docker_call(m, "GET", path, NULL, CALL_MS, listed, d);
		free(path);
	}
	if (d->sees && d->events == NULL && now >= d->events_due)
		open_events(d);
	for (struct worker *w = m->workers; w != NULL; w = w->next) {
		/* One that is being started is first answered for by its start. */
		if (w->died && w->phase != WORKER_STARTING) {
			w->died = false;
			bury(m, w);
		}
	}
	return d->list_due;
}
