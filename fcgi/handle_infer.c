/* SPDX-License-Identifier: Apache-2.0
 * A model call: permit, upstream, release. The OpenAI and Ollama routes and our own differ in where the model's name
 * stands and in what errors look like. */
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "fcgi/forward.h"
#include "fcgi/pressure.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WAIT_MAX_SEC = 3600, HEADERS_MAX = 1024 };

enum style { STYLE_OWN, STYLE_OPENAI, STYLE_OLLAMA };

/* Clients of other APIs look for the error in their own place; ours stays beside it. */
static void add_foreign_error(struct answer *a, enum style style)
{
	struct json_object *message, *code, *error;

	if (a->json == NULL || a->status < 400 || style == STYLE_OWN)
		return;
	json_object_object_get_ex(a->json, "message", &message);
	json_object_object_get_ex(a->json, "error_code", &code);
	if (style == STYLE_OLLAMA) {
		json_object_object_add(a->json, "error", json_object_get(message));
		return;
	}
	error = json_object_new_object();
	json_object_object_add(error, "message", json_object_get(message));
	json_object_object_add(error, "type",
	    json_object_new_string(a->status == 429   ? "rate_limit_error"
				   : a->status == 401 ? "authentication_error"
				   : a->status >= 500 ? "server_error"
						      : "invalid_request_error"));
	json_object_object_add(error, "code", json_object_get(code));
	json_object_object_add(error, "param", NULL);
	json_object_object_add(a->json, "error", error);
}

/* Prefer: wait=N, among others; -1 if there is none. */
static long preferred_wait(const struct request *r)
{
	const char *p = request_var(r, "HTTP_PREFER");

	while (p != NULL && *p != '\0') {
		p += strspn(p, " \t,;");
		if (strncasecmp(p, "wait=", 5) == 0 && p[5] >= '0' && p[5] <= '9') {
			long n = strtol(p + 5, NULL, 10);

			return n < WAIT_MAX_SEC ? n : WAIT_MAX_SEC;
		}
		p += strcspn(p, ",;");
	}
	return -1;
}

static void add_text(struct json_object *o, const char *name, const char *value)
{
	if (value != NULL && *value != '\0')
		json_object_object_add(o, name, json_object_new_string(value));
}

static void refuse(struct answer *a, struct json_object *decision)
{
	static const char *const internal[] = {"id", "base_url", "api_key_file", "caller", "ticket", "reset_ms"};
	const char *outcome = api_outcome(decision);
	struct buf headers;

	if (strcmp(outcome, "CANCELLED") == 0 || strcmp(outcome, "RELEASED") == 0) {
		a->sent = true; /* there is nobody to tell */
		return;
	}
	buf_init(&headers, HEADERS_MAX);
	if (strcmp(outcome, "RATE_LIMITED") == 0)
		forward_limit_headers(decision, &headers);
	buf_append(&a->headers, headers.data, headers.len);
	buf_free(&headers);
	for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
		json_object_object_del(decision, internal[i]);
	answer_error_with(a, outcome, NULL, decision);
	if (a->status == 401)
		answer_header(a, "WWW-Authenticate", "Bearer realm=\"camserver\"");
}

/* Who comes while many wait, waits a little before joining them, or is refused. False: the answer is filled in. */
static bool admit(struct worker *w, struct request *r, struct answer *a)
{
	struct pollfd client = {.fd = r->fcgi->ipcFd, .events = POLLRDHUP};
	struct backpressure_limits limits;
	int64_t waiting = permits_waiting(w->keeper->permits, &limits);
	struct backpressure b = backpressure_judge(&limits, waiting);

	metrics_gauge_set(w->api.metrics, GAUGE_GATEWAY_WAITING_MAX, limits.max);
	if (b.stage == BACKPRESSURE_OVERLOADED) {
		struct json_object *facts = json_object_new_object();

		json_object_object_add(facts, "queue", json_object_new_int64(waiting));
		json_object_object_add(facts, "queue_max", json_object_new_int64(limits.max));
		answer_error_with(a, "QUEUE_FULL", NULL, facts);
		json_object_put(facts);
		metrics_add(w->api.metrics, METRIC_BACKPRESSURE_REJECTIONS_GATEWAY);
		return false;
	}
	if (b.delay_ms > 0) {
		metrics_add(w->api.metrics, METRIC_BACKPRESSURE_DELAYED_GATEWAY);
		metrics_observe(w->api.metrics, HISTOGRAM_DELAY_GATEWAY, b.delay_ms * 1000);
		poll(&client, 1, (int)b.delay_ms);
	}
	return true;
}

static void count_decision(struct worker *w, struct json_object *decision, int64_t waited_us)
{
	static const struct {
		const char *outcome;
		enum metric metric;
	} counted[] = {
	    {"GRANTED", METRIC_PERMITS_GRANTED},
	    {"STOCK", METRIC_PERMITS_GRANTED},
	    {"RATE_LIMITED", METRIC_PERMITS_REFUSED},
	    {"CANCELLED", METRIC_PERMITS_CANCELLED},
	    {"RELEASED", METRIC_PERMITS_CANCELLED},
	    {"DB_UNAVAILABLE", METRIC_PERMITS_FAILED},
	    {"SHUTTING_DOWN", METRIC_PERMITS_FAILED},
	};

	metrics_observe(w->api.metrics, HISTOGRAM_PERMIT_WAIT, waited_us);
	for (size_t i = 0; decision != NULL && i < sizeof counted / sizeof *counted; i++)
		if (strcmp(api_outcome(decision), counted[i].outcome) == 0)
			metrics_add(w->api.metrics, counted[i].metric);
}

/* Whatever happens between the grant and the end of this function, the permit is given back here. */
static void call_model(struct worker *w, struct request *r, struct answer *a, const char *model,
    const struct call_body *body, enum upstream_call call)
{
	struct metrics *metrics = w->api.metrics;
	long wait = preferred_wait(r);
	struct permit_ask ask = {.who = &w->api.identity,
	    .model = model,
	    .nodes = !router_knows(w->keeper->router, model, clock_ms()),
	    .wait_sec = wait};
	struct permit permit;
	int64_t start;

	if (!admit(w, r, a))
		return;
	start = clock_us();
	metrics_gauge_add(metrics, GAUGE_GATEWAY_WAITING, 1);
	permits_ask(w->keeper->permits, &ask, w->event_fd, r->fcgi->ipcFd, &permit);
	metrics_gauge_add(metrics, GAUGE_GATEWAY_WAITING, -1);
	count_decision(w, permit.decision, clock_us() - start);
	if (permit.decision == NULL) {
		answer_error(a, "INTERNAL_ERROR");
	} else if (!permit.granted) {
		refuse(a, permit.decision);
	} else {
		start = clock_us();
		metrics_gauge_add(metrics, GAUGE_MODEL_CALLS, 1);
		forward(w, r, a,
		    &(struct forward){.permit = permit.decision, .body = body, .call = call, .wait_sec = wait});
		metrics_gauge_add(metrics, GAUGE_MODEL_CALLS, -1);
		metrics_observe(metrics, HISTOGRAM_MODEL_CALL, clock_us() - start);
	}
	permits_end(w->keeper->permits, &permit);
}

static void call_named(struct api *api, struct request *r, struct answer *a, enum upstream_call call, enum style style)
{
	struct call_body body;
	struct err e;

	if (call_body_read(r->body.data, r->body.len, &body, &e) < 0)
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
	else if (!body.has_model)
		answer_error_with(a, "BAD_REQUEST", "\"model\" is missing", NULL);
	else
		call_model((struct worker *)api, r, a, body.model, &body, call);
	add_foreign_error(a, style);
}

void handle_infer(struct api *api, struct request *r, struct answer *a)
{
	bool is_json = request_is_type(r, "application/json");
	struct call_body body;
	struct err e;

	if (is_json && call_body_read(r->body.data, r->body.len, &body, &e) < 0)
		answer_error_with(a, "BAD_REQUEST", e.msg, NULL);
	else
		call_model((struct worker *)api, r, a, r->args[0], is_json ? &body : NULL, UPSTREAM_INFER);
}

void handle_chat_completions(struct api *api, struct request *r, struct answer *a)
{
	call_named(api, r, a, UPSTREAM_CHAT, STYLE_OPENAI);
}

void handle_embeddings(struct api *api, struct request *r, struct answer *a)
{
	call_named(api, r, a, UPSTREAM_EMBEDDINGS, STYLE_OPENAI);
}

void handle_ollama_generate(struct api *api, struct request *r, struct answer *a)
{
	call_named(api, r, a, UPSTREAM_OLLAMA_GENERATE, STYLE_OLLAMA);
}

void handle_ollama_chat(struct api *api, struct request *r, struct answer *a)
{
	call_named(api, r, a, UPSTREAM_OLLAMA_CHAT, STYLE_OLLAMA);
}

/* The models, each as one() words it, in an array of the name; NULL after filling in the error. */
static struct json_object *list_models(struct api *api, struct request *r, struct answer *a,
    struct json_object *(*one)(struct json_object *model), enum style style)
{
	struct worker *w = (struct worker *)api;
	struct permit_ask ask = {.who = &w->api.identity, .list = true, .wait_sec = -1};
	struct json_object *models, *list = NULL;
	struct permit permit;

	permits_ask(w->keeper->permits, &ask, w->event_fd, r->fcgi->ipcFd, &permit);
	if (permit.decision == NULL) {
		answer_error(a, "INTERNAL_ERROR");
	} else if (strcmp(api_outcome(permit.decision), "OK") != 0) {
		refuse(a, permit.decision);
	} else if (json_object_object_get_ex(permit.decision, "models", &models)) {
		list = json_object_new_array();
		for (size_t i = 0; i < json_object_array_length(models); i++)
			json_object_array_add(list, one(json_object_array_get_idx(models, i)));
	}
	add_foreign_error(a, style);
	permits_end(w->keeper->permits, &permit);
	return list;
}

static struct json_object *openai_model(struct json_object *model)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "id", json_text(model, "model"));
	add_text(o, "object", "model");
	json_object_object_add(o, "created", json_object_new_int64(json_number(model, "created")));
	add_text(o, "owned_by", json_text(model, "provider"));
	return o;
}

static struct json_object *ollama_model(struct json_object *model)
{
	struct json_object *o = json_object_new_object();

	add_text(o, "name", json_text(model, "model"));
	add_text(o, "model", json_text(model, "model"));
	add_text(o, "modified_at", json_text(model, "created_at"));
	json_object_object_add(o, "size", json_object_new_int(0));
	json_object_object_add(o, "digest", json_object_new_string(""));
	json_object_object_add(o, "details", json_object_new_object());
	return o;
}

static void answer_list(struct answer *a, const char *name, struct json_object *list, const char *object)
{
	struct json_object *json;

	if (list == NULL)
		return;
	json = json_object_new_object();
	add_text(json, "object", object);
	json_object_object_add(json, name, list);
	answer_json(a, 200, json);
}

void handle_openai_models(struct api *api, struct request *r, struct answer *a)
{
	answer_list(a, "data", list_models(api, r, a, openai_model, STYLE_OPENAI), "list");
}

void handle_ollama_tags(struct api *api, struct request *r, struct answer *a)
{
	answer_list(a, "models", list_models(api, r, a, ollama_model, STYLE_OLLAMA), NULL);
}
