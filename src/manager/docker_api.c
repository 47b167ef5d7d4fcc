/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/docker_api.h"

#include "common/json.h"
#include "manager/logfile.h"
#include "manager/worker.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 4 * 1024 * 1024, FRAME_HEADER = 8, BY_SIGKILL = 137 };

struct http_transfer *docker_call(struct manager *m, const char *method, const char *path, const char *json,
    long timeout_ms, http_done *done, void *arg)
{
	struct http_request r = {.method = method, .json = json, .timeout_ms = timeout_ms, .answer_max = ANSWER_MAX};
	char url[2048];

	snprintf(url, sizeof url, "http://docker%s", path);
	r.url = url;
	r.unix_socket = m->conf.docker_socket;
	if (json == NULL && strcmp(method, "POST") == 0)
		r.json = "";
	return http_start(m->http, &r, done, arg);
}

/* Which manager's: two installations may share an engine. */
static void owner(const struct manager *m, char *ret, size_t size)
{
	snprintf(ret, size, "%s:%s", m->conf.host_name, m->conf.worker_dir);
}

static void add_text(struct json_object *o, const char *name, const char *text)
{
	json_object_object_add(o, name, json_object_new_string(text));
}

static struct json_object *environment(const struct worker *w, long port)
{
	struct json_object *env = json_object_new_array(), *more = NULL;
	char line[4096];

	snprintf(line, sizeof line, "PORT=%ld", port);
	json_object_array_add(env, json_object_new_string(line));
	snprintf(line, sizeof line, "CAMSERVER_POOL=%s", worker_text(w, "pool"));
	json_object_array_add(env, json_object_new_string(line));
	snprintf(line, sizeof line, "CAMSERVER_WORKER_ID=%s", w->id);
	json_object_array_add(env, json_object_new_string(line));
	if (json_object_object_get_ex(w->spec, "environment", &more)) {
		json_object_object_foreach(more, name, value)
		{
			snprintf(line, sizeof line, "%s=%s", name, json_object_get_string(value));
			json_object_array_add(env, json_object_new_string(line));
		}
	}
	return env;
}

static struct json_object *labels(const struct manager *m, const struct worker *w)
{
	struct json_object *l = json_object_new_object();
	char text[4096];

	owner(m, text, sizeof text);
	add_text(l, "camserver.manager", text);
	add_text(l, "camserver.pool", worker_text(w, "pool"));
	add_text(l, "camserver.worker", w->id);
	return l;
}

/* Publishes the image's port on the worker's; without one the container shares the host's network. */
static void add_network(
    const struct manager *m, const struct worker *w, long inside, struct json_object *body, struct json_object *host)
{
	struct json_object *exposed, *bindings, *list, *binding;
	unsigned char address[sizeof(struct in6_addr)];
	char name[32], port[16];

	if (inside == 0) {
		add_text(host, "NetworkMode", "host");
		return;
	}
	snprintf(name, sizeof name, "%ld/tcp", inside);
	snprintf(port, sizeof port, "%d", w->port);
	exposed = json_object_new_object();
	json_object_object_add(exposed, name, json_object_new_object());
	json_object_object_add(body, "ExposedPorts", exposed);
	binding = json_object_new_object();
	if (inet_pton(AF_INET, m->conf.worker_address, address) == 1)
		add_text(binding, "HostIp", m->conf.worker_address);
	add_text(binding, "HostPort", port);
	list = json_object_new_array();
	json_object_array_add(list, binding);
	bindings = json_object_new_object();
	json_object_object_add(bindings, name, list);
	json_object_object_add(host, "PortBindings", bindings);
}

struct json_object *docker_create_body(const struct manager *m, const struct worker *w)
{
	struct json_object *body = json_object_new_object(), *host = json_object_new_object(), *command = NULL;
	long inside = worker_number(w, "container_port", 0), memory = worker_number(w, "memory_mb", 0);
	long files = worker_number(w, "open_files", 0);

	add_text(body, "Image", worker_text(w, "image"));
	if (json_object_object_get_ex(w->spec, "command", &command) && json_object_array_length(command) > 0)
		json_object_object_add(body, "Cmd", json_object_get(command));
	json_object_object_add(body, "Env", environment(w, inside != 0 ? inside : w->port));
	json_object_object_add(body, "Labels", labels(m, w));
	add_network(m, w, inside, body, host);
	if (memory > 0)
		json_object_object_add(host, "Memory", json_object_new_int64((int64_t)memory * 1024 * 1024));
	if (files > 0) {
		struct json_object *limits = json_object_new_array(), *limit = json_object_new_object();

		add_text(limit, "Name", "nofile");
		json_object_object_add(limit, "Soft", json_object_new_int64(files));
		json_object_object_add(limit, "Hard", json_object_new_int64(files));
		json_object_array_add(limits, limit);
		json_object_object_add(host, "Ulimits", limits);
	}
	json_object_object_add(body, "HostConfig", host);
	return body;
}

static char *path_filtered(const struct manager *m, const char *start)
{
	struct json_object *filters = json_object_new_object(), *list = json_object_new_array();
	char label[4096 + 32], *escaped, *path = NULL;

	snprintf(label, sizeof label, "camserver.manager=");
	owner(m, label + strlen(label), sizeof label - strlen(label));
	json_object_array_add(list, json_object_new_string(label));
	json_object_object_add(filters, "label", list);
	escaped = curl_easy_escape(NULL, json_object_to_json_string_ext(filters, JSON_C_TO_STRING_NOSLASHESCAPE), 0);
	if (escaped == NULL || asprintf(&path, "%sfilters=%s", start, escaped) < 0)
		path = NULL;
	curl_free(escaped);
	json_object_put(filters);
	return path;
}

char *docker_path_list(const struct manager *m)
{
	return path_filtered(m, "/containers/json?all=true&");
}

char *docker_path_events(const struct manager *m)
{
	return path_filtered(m, "/events?");
}

void docker_fault(const struct http_answer *a, char *ret, size_t size)
{
	struct json_object *body = a->status != 0 ? json_tokener_parse(a->body) : NULL;
	const char *message = NULL;

	if (json_object_is_type(body, json_type_object)) {
		(void)json_get_string(body, "message", &message, NULL);
		if (message == NULL)
			(void)json_get_string(body, "cause", &message, NULL);
	}
	if (a->status == 0)
		snprintf(ret, size, "the container engine: %s", a->fault);
	else
		snprintf(ret, size, "the container engine answers %ld: %s", a->status,
		    message != NULL ? message : "no reason given");
	json_object_put(body);
	ident_clean(ret);
}

/* Without a terminal each piece comes with a header: stream, three zeros, length in network order. */
void docker_log_text(const struct http_answer *a, char *ret, size_t size)
{
	size_t at = 0, len = 0;

	ret[0] = '\0';
	if (a->status != 200)
		return;
	while (at + FRAME_HEADER <= a->len && len + 1 < size) {
		const unsigned char *h = (const unsigned char *)a->body + at;
		size_t n = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];

		if (h[0] > 2 || h[1] != 0 || h[2] != 0 || h[3] != 0)
			break; /* not framed: a terminal's */
		at += FRAME_HEADER;
		n = n < a->len - at ? n : a->len - at;
		at += n;
		if (n > size - 1 - len)
			n = size - 1 - len;
		memcpy(ret + len, h + FRAME_HEADER, n);
		len += n;
	}
	if (len == 0 && at == 0) {
		len = a->len < size - 1 ? a->len : size - 1;
		memcpy(ret, a->body, len);
	}
	ret[len] = '\0';
	logfile_clean(ret);
}

void docker_describe_end(const struct http_answer *a, bool oom, char *ret, size_t size)
{
	struct json_object *body = json_tokener_parse(a->body), *state = NULL;
	const char *error = "", *why = "";
	bool killed = false, running = false;
	int64_t code = -1;

	if (json_object_is_type(body, json_type_object) && json_object_object_get_ex(body, "State", &state)) {
		(void)json_get_int64(state, "ExitCode", &code, NULL);
		(void)json_get_bool(state, "OOMKilled", &killed, NULL);
		(void)json_get_bool(state, "Running", &running, NULL);
		(void)json_get_string(state, "Error", &error, NULL);
	}
	if (oom || killed)
		why = ", out of memory";
	else if (code == BY_SIGKILL && !running)
		why = ", killed, perhaps for want of memory"; /* not every engine gets to know */
	if (running)
		snprintf(ret, size, "its container was removed by force%s", why);
	else
		snprintf(ret, size, "its container ended with status %lld%s%s%s", (long long)code, why,
		    *error != '\0' ? ": " : "", error);
	json_object_put(body);
}
