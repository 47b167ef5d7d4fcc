/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/forward.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"

#include <stdio.h>
#include <string.h>

enum { HEADERS_MAX = 1024, BODY_MAX = 17 * 1024 * 1024, FULL_WAIT_MS = 5000, REFRESHES_MAX = 3, WORKER_TRIES = 2 };

/* One call on its way. */
struct call {
	struct worker *w;
	struct answer *a;
	FCGX_Request *fcgi;
	struct json_object *permit;
	const char *model;
	struct upstream upstream;
	struct relay_request request;
	struct relay_result result; /* of the last attempt */
	struct buf headers;
	size_t own_headers; /* those that stay when the node's name is taken off */
	int64_t full_until; /* how long to wait for a place at a node */
};

void forward_limit_headers(struct json_object *facts, struct buf *b)
{
	const char *level = json_text(facts, "level");

	if (*level == '\0')
		return;
	buf_printf(b, "RateLimit-Policy: \"%s\";q=%lld;w=%lld\r\n", level, (long long)json_number(facts, "requests"),
	    (long long)(json_number(facts, "window_ms") + 999) / 1000);
	buf_printf(b, "RateLimit: \"%s\";r=%lld;t=%lld\r\n", level, (long long)json_number(facts, "tokens"),
	    (long long)(json_number(facts, "reset_ms") + 999) / 1000);
}

/* --- attempts */

static void refuse(struct call *c, const char *code, const char *reason, long retry_after_sec)
{
	struct json_object *facts = json_object_new_object();

	if (reason != NULL && *reason != '\0')
		json_object_object_add(facts, "reason", json_object_new_string(reason));
	if (retry_after_sec > 0)
		json_object_object_add(facts, "retry_after", json_object_new_int64(retry_after_sec));
	answer_error_with(c->a, code, NULL, facts);
	json_object_put(facts);
}

/* One attempt at an address. */
static enum relay_end attempt(struct call *c, const char *url)
{
	enum relay_end end;

	c->request.url = url;
	c->request.headers = c->headers.data;
	end = relay_run(c->w->relay, &c->request, c->fcgi, &c->result);
	metrics_add(c->w->api.metrics, METRIC_NODE_REQUESTS);
	metrics_add_n(c->w->api.metrics, METRIC_NODE_CONNECTIONS, (uint64_t)c->result.new_connections);
	if (end == RELAY_CLIENT_GONE)
		log_debug("the client of %s hung up", url);
	else if (end != RELAY_DONE && end != RELAY_HELD)
		log_warning("%s: %s", url, c->result.e.msg);
	return end;
}

static enum call_end judge(const struct call *c, enum relay_end end)
{
	long status = c->result.status;

	switch (end) {
	case RELAY_DONE:
	case RELAY_HELD:
		return status == 429 || status == 503 ? CALL_BUSY : status >= 500 ? CALL_FAULTY : CALL_WORKED;
	case RELAY_TIMEOUT:
		return CALL_TIMEOUT;
	case RELAY_FAILED:
		return c->result.reached ? CALL_FAULTY : CALL_UNREACHABLE;
	case RELAY_BROKEN:
	case RELAY_CLIENT_GONE:
		break;
	}
	return CALL_FAULTY;
}

/* What the client is told of the last attempt, if it has not been told yet. */
static void finish(struct call *c, enum relay_end end)
{
	switch (end) {
	case RELAY_HELD:
		relay_send_held(c->w->relay);
		/* fall through */
	case RELAY_DONE:
		c->a->sent = true;
		c->a->status = (int)c->result.status;
		break;
	case RELAY_BROKEN:
	case RELAY_CLIENT_GONE:
		c->a->sent = true;
		break;
	case RELAY_TIMEOUT:
		answer_error_with(c->a, "UPSTREAM_TIMEOUT", c->result.e.msg, NULL);
		break;
	case RELAY_FAILED:
		answer_error_with(c->a, "UPSTREAM_FAILED", c->result.e.msg, NULL);
		break;
	}
}

/* --- the provider's own address */

static void to_provider(struct call *c)
{
	const char *base = json_text(c->permit, "base_url");
	struct err e;

	if (*base == '\0' || upstream_address(&c->upstream, base, &e) < 0) {
		log_error("model %s: %s", c->model, *base == '\0' ? "its provider has no base_url" : e.msg);
		answer_error(c->a, "UPSTREAM_FAILED");
		return;
	}
	finish(c, attempt(c, c->upstream.url));
}

/* --- a worker of a pool */

/* Why a worker is not to be used again; NULL: it is. An answer, even an unfriendly one, is a worker that works. */
static const char *why_evict(struct call *c, enum relay_end end, char *ret, size_t size)
{
	if ((end == RELAY_DONE || end == RELAY_HELD) && c->result.status < 500)
		return NULL;
	if (end == RELAY_CLIENT_GONE)
		snprintf(ret, size, "the caller hung up in the middle of the call");
	else if (end == RELAY_DONE || end == RELAY_HELD)
		snprintf(ret, size, "the call was answered with %ld", c->result.status);
	else
		snprintf(ret, size, "the call failed: %.300s", c->result.e.msg);
	return ret;
}

static enum relay_end call_worker(struct call *c, struct pool_grant *grant)
{
	char reason[POOL_REASON_MAX];
	enum relay_end end = RELAY_FAILED;
	const char *url = c->upstream.url;

	/* What is no model call of a known kind goes where the pool says. */
	if (!upstream_is_question(&c->upstream))
		url = grant->url;
	else if (upstream_address(&c->upstream, grant->base_url, &c->result.e) < 0)
		url = NULL;
	if (url != NULL)
		end = attempt(c, url);
	pools_return(c->w->keeper->pools, grant, why_evict(c, end, reason, sizeof reason));
	return end;
}

static void to_pool(struct call *c, const char *pool)
{
	struct pools *pools = c->w->keeper->pools;
	struct pool_grant grant;
	enum relay_end end;

	for (int tries = 1;; tries++) {
		if (pools == NULL) {
			refuse(c, "POOL_DISABLED", "ENABLE_CONTAINER_POOLING is off", 0);
			return;
		}
		pools_acquire(pools, pool, c->w->event_fd, c->fcgi->ipcFd, &grant);
		metrics_add(c->w->api.metrics, grant.lease != NULL ? METRIC_POOL_GRANTED : METRIC_POOL_REFUSED);
		metrics_observe(c->w->api.metrics, HISTOGRAM_POOL_WAIT, (int64_t)grant.waited_ms * 1000);
		if (grant.lease == NULL) {
			if (strcmp(grant.error_code, "CANCELLED") == 0)
				c->a->sent = true; /* there is nobody to tell */
			else
				refuse(c, grant.error_code, grant.reason, grant.retry_after_sec);
			return;
		}
		c->request.hold = tries < WORKER_TRIES;
		end = call_worker(c, &grant);
		if ((end != RELAY_FAILED && end != RELAY_HELD) || tries == WORKER_TRIES ||
		    !router_may_retry(c->w->keeper->router, judge(c, end), upstream_is_question(&c->upstream)))
			break;
	}
	finish(c, end);
}

/* --- nodes */

/* The candidates anew. -1: the answer is filled in. */
static int refresh(struct call *c)
{
	struct permit_ask ask = {.nodes_of = c->model, .wait_sec = -1};
	struct json_object *nodes;
	struct permit answer;
	int result = -1;

	permits_ask(c->w->keeper->permits, &ask, c->w->event_fd, c->fcgi->ipcFd, &answer);
	if (answer.decision == NULL) {
		answer_error(c->a, "INTERNAL_ERROR");
	} else if (json_object_object_get_ex(answer.decision, "nodes", &nodes)) {
		router_fill(c->w->keeper->router, c->model, nodes, clock_ms());
		result = 0;
	} else if (strcmp(api_outcome(answer.decision), "CANCELLED") == 0) {
		c->a->sent = true;
	} else {
		answer_error(c->a, api_outcome(answer.decision));
	}
	permits_end(c->w->keeper->permits, &answer);
	return result;
}

/* The answer says which node gave it; NULL: none does. */
static void name_node(struct call *c, const char *name)
{
	c->headers.len = c->own_headers;
	c->headers.data[c->headers.len] = '\0';
	if (name != NULL)
		buf_printf(&c->headers, "X-Camserver-Node: %s\r\n", name);
}

static enum relay_end call_node(struct call *c, struct route_pick *pick, enum call_end *ret_end)
{
	struct router *router = c->w->keeper->router;
	enum relay_end end = RELAY_FAILED;
	char reason[ROUTER_REASON_MAX];

	name_node(c, pick->name);
	c->request.hold = true;
	c->request.http2 = pick->http2;
	c->result = (struct relay_result){0};
	if (upstream_address(&c->upstream, pick->base_url, &c->result.e) == 0)
		end = attempt(c, c->upstream.url);
	*ret_end = judge(c, end);
	if (end == RELAY_CLIENT_GONE) {
		router_drop(router, pick);
		return end;
	}
	if (c->result.status != 0)
		snprintf(reason, sizeof reason, "status %ld", c->result.status);
	else
		snprintf(reason, sizeof reason, "%.300s", c->result.e.msg);
	router_end(router, c->model, pick, *ret_end, c->result.retry_after_sec * 1000, reason, clock_ms());
	return end;
}

/* No node takes the call: what the last one said, if one did; otherwise that they are full, or that nobody is there. */
static void no_node(struct call *c, enum route_found route, const struct route_pick *pick, enum relay_end last)
{
	if (last == RELAY_HELD || (last == RELAY_FAILED && c->result.reached)) {
		finish(c, last);
		return;
	}
	metrics_add(c->w->api.metrics, route == ROUTE_FULL ? METRIC_NODES_FULL : METRIC_NO_NODE);
	refuse(c, route == ROUTE_FULL ? "NODES_BUSY" : "NO_NODE", NULL, (pick->retry_after_ms + 999) / 1000);
}

/* True if nodes serve the model, and the request is answered. */
static bool to_nodes(struct call *c)
{
	struct router *router = c->w->keeper->router;
	enum relay_end last = RELAY_DONE; /* of an attempt before; DONE: there was none */
	struct route_pick pick = {0};
	enum call_end end;
	int refreshes = 0;

	for (;;) {
		enum route_found route = router_choose(router, c->model, &pick, clock_ms());

		if (route == ROUTE_UNKNOWN && refreshes++ < REFRESHES_MAX) {
			if (refresh(c) < 0)
				return true;
		} else if (route == ROUTE_FULL && clock_ms() < c->full_until) {
			router_wait(router, c->full_until - clock_ms());
		} else if (route == ROUTE_OK) {
			last = call_node(c, &pick, &end);
			if ((last == RELAY_FAILED || last == RELAY_HELD) &&
			    router_may_retry(router, end, upstream_is_question(&c->upstream)))
				continue;
			finish(c, last);
			return true;
		} else if (route == ROUTE_NONE && last == RELAY_DONE) {
			return false;
		} else {
			no_node(c, route, &pick, last);
			return true;
		}
	}
}

/* --- */

static void choose_way(struct call *c)
{
	const char *pool = json_text(c->permit, "pool");
	struct json_object *nodes;

	if (*pool != '\0') {
		to_pool(c, pool);
		return;
	}
	if (json_object_object_get_ex(c->permit, "nodes", &nodes))
		router_fill(c->w->keeper->router, c->model, nodes, clock_ms());
	if (!to_nodes(c)) {
		name_node(c, NULL);
		c->request.hold = c->request.http2 = false;
		to_provider(c);
	}
}

void forward(struct worker *w, struct request *r, struct answer *a, const struct forward *f)
{
	const char *type = request_var(r, "CONTENT_TYPE");
	long wait_ms = f->wait_sec < 0 || f->wait_sec > FULL_WAIT_MS / 1000 ? FULL_WAIT_MS : f->wait_sec * 1000;
	struct call c = {.w = w,
	    .a = a,
	    .fcgi = r->fcgi,
	    .permit = f->permit,
	    .model = json_text(f->permit, "model"),
	    .full_until = clock_ms() + wait_ms,
	    .request = {.type = type != NULL ? type : "application/json",
		.accept = request_var(r, "HTTP_ACCEPT"),
		.body = r->body.data,
		.len = r->body.len,
		.timeout_ms = w->api.conf->gateway_timeout_sec * 1000}};
	struct buf body;
	struct err e;

	if (upstream_prepare(&c.upstream, f->permit, f->call, f->body, &e) < 0) {
		log_error("model %s: %s", c.model, e.msg);
		answer_error(a, "UPSTREAM_FAILED");
		return;
	}
	buf_init(&c.headers, HEADERS_MAX);
	buf_init(&body, BODY_MAX);
	if (f->body != NULL) {
		if (call_body_write(f->body, c.upstream.model, &body) < 0) {
			answer_error(a, "PAYLOAD_TOO_LARGE");
			goto out;
		}
		c.request.body = body.data;
		c.request.len = body.len;
	}
	forward_limit_headers(f->permit, &c.headers);
	c.own_headers = c.headers.len;
	c.request.authorization = c.upstream.key;
	c.request.fresh = !upstream_is_question(&c.upstream);
	choose_way(&c);
out:
	buf_free(&c.headers);
	buf_free(&body);
}
