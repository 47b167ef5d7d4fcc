/* SPDX-License-Identifier: Apache-2.0 */
#include "common/router.h"

#include "common/json.h"
#include "policy/balance.h"
#include "policy/node.h"

#include <json-c/linkhash.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CACHE_MS = 5000, CACHE_MAX = 1000, CANDIDATES_MAX = 100, HASH_SIZE = 64, FULL_MS = 1000 };

struct router_node {
	char name[IDENT_MAX + 1];
	char base_url[ROUTER_URL_MAX + 1];
	char health_path[ROUTER_HEALTH_MAX + 1];
	bool http2, draining;
	unsigned max_inflight;
	struct balance balance;
	struct node_state state;
	bool heard; /* it is down because another program says so */
	bool probing;
	bool urgent; /* it has just gone or come back, and others wait to hear of it */
	uint64_t requests, failures, ejections;
	char reason[ROUTER_REASON_MAX];
	unsigned refs; /* cached candidates, picks and a probe that name it */
};

/* The candidates of a model. */
struct entry {
	int64_t fresh_until;
	size_t n;
	struct router_node *nodes[];
};

struct router {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	bool patient;
	struct metrics *metrics;
	struct lh_table *nodes, *models; /* by name; models: struct entry, the oldest first */
	struct retry_budget budget;
	uint64_t seed;
};

/* --- nodes */

static void let_go(struct router *r, struct router_node *n)
{
	if (--n->refs == 0)
		lh_table_delete(r->nodes, n->name); /* frees it */
}

static void free_node(struct lh_entry *e)
{
	free(lh_entry_v(e));
}

static struct router_node *node_get(struct router *r, const char *name)
{
	struct router_node *n = NULL;

	if (lh_table_lookup_ex(r->nodes, name, (void **)&n))
		return n;
	n = calloc(1, sizeof *n);
	if (n == NULL)
		return NULL;
	snprintf(n->name, sizeof n->name, "%s", name);
	if (lh_table_insert(r->nodes, n->name, n) != 0) {
		free(n);
		return NULL;
	}
	return n;
}

static void come_back(struct router_node *n, int64_t now)
{
	node_worked(&n->state);
	n->balance.returned_at = now;
	n->heard = false;
	n->urgent = true;
}

/* What the database says of a node. At another address it is another node. */
static void node_configure(struct router_node *n, struct json_object *o)
{
	const char *url = "", *health = "/healthz";
	int64_t most = 1;
	double weight = 1;

	(void)json_get_string(o, "base_url", &url, NULL);
	(void)json_get_string(o, "health_path", &health, NULL);
	(void)json_get_int64(o, "max_inflight", &most, NULL);
	(void)json_get_double(o, "weight", &weight, NULL);
	(void)json_get_bool(o, "http2", &n->http2, NULL);
	(void)json_get_bool(o, "draining", &n->draining, NULL);
	n->max_inflight = (unsigned)most;
	n->balance.weight = weight > 0 ? weight : 1;
	snprintf(n->health_path, sizeof n->health_path, "%s", health);
	if (strcmp(n->base_url, url) != 0) {
		snprintf(n->base_url, sizeof n->base_url, "%s", url);
		n->state = (struct node_state){0};
		n->balance.latency_ms = 0;
		n->heard = false;
	}
}

static bool is_open(const struct router_node *n, int64_t now)
{
	return !n->draining && node_open(&n->state, now);
}

static bool has_other_open(const struct entry *e, const struct router_node *n, int64_t now)
{
	for (size_t i = 0; e != NULL && i < e->n; i++)
		if (e->nodes[i] != n && is_open(e->nodes[i], now))
			return true;
	return false;
}

/* --- the cache of candidates */

static void entry_free(struct router *r, struct entry *e)
{
	for (size_t i = 0; i < e->n; i++)
		let_go(r, e->nodes[i]);
	free(e);
}

static void forget_model(struct router *r, struct lh_entry *at)
{
	struct entry *e = lh_entry_v(at);
	char *name = lh_entry_k(at);

	lh_table_delete_entry(r->models, at);
	entry_free(r, e);
	free(name);
}

static struct entry *entry_of(struct router *r, const char *model)
{
	struct entry *e = NULL;

	lh_table_lookup_ex(r->models, model, (void **)&e);
	return e;
}

static struct entry *entry_new(struct router *r, struct json_object *candidates, int64_t now)
{
	size_t n = json_object_array_length(candidates);
	struct entry *e;

	if (n > CANDIDATES_MAX)
		n = CANDIDATES_MAX;
	e = calloc(1, sizeof *e + n * sizeof *e->nodes);
	if (e == NULL)
		return NULL;
	e->fresh_until = now + CACHE_MS;
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(candidates, i);
		const char *name = "";
		struct router_node *node;

		(void)json_get_string(o, "name", &name, NULL);
		node = node_get(r, name);
		if (node == NULL)
			continue;
		node_configure(node, o);
		node->refs++;
		e->nodes[e->n++] = node;
	}
	return e;
}

/* What other programs have found. */
static void hear(const struct entry *e, struct json_object *candidates, int64_t now)
{
	for (size_t i = 0; i < e->n; i++) {
		struct router_node *n = e->nodes[i];
		int64_t out = 0;

		(void)json_get_int64(json_object_array_get_idx(candidates, i), "out_ms", &out, NULL);
		if (out > 0 && is_open(n, now) && has_other_open(e, n, now)) {
			node_heard_out(&n->state, out, now);
			n->heard = true;
		} else if (out == 0 && n->heard) {
			come_back(n, now);
			n->urgent = false; /* they know */
		}
	}
}

void router_fill(struct router *r, const char *model, struct json_object *candidates, int64_t now)
{
	struct lh_entry *old;
	struct entry *e;
	char *name;

	if (!json_object_is_type(candidates, json_type_array))
		return;
	pthread_mutex_lock(&r->lock);
	name = strdup(model);
	e = name != NULL ? entry_new(r, candidates, now) : NULL;
	old = lh_table_lookup_entry(r->models, model);
	if (old != NULL)
		forget_model(r, old);
	else if (lh_table_length(r->models) >= CACHE_MAX)
		forget_model(r, lh_table_head(r->models));
	if (e != NULL && lh_table_insert(r->models, name, e) == 0) {
		hear(e, candidates, now);
	} else {
		if (e != NULL)
			entry_free(r, e);
		free(name);
	}
	pthread_mutex_unlock(&r->lock);
}

bool router_knows(struct router *r, const char *model, int64_t now)
{
	struct entry *e;
	bool fresh;

	pthread_mutex_lock(&r->lock);
	e = entry_of(r, model);
	fresh = e != NULL && now < e->fresh_until;
	pthread_mutex_unlock(&r->lock);
	metrics_add(r->metrics, fresh ? METRIC_CACHE_HITS : METRIC_CACHE_MISSES);
	return fresh;
}

void router_invalidate(struct router *r)
{
	struct lh_entry *at;

	pthread_mutex_lock(&r->lock);
	lh_foreach(r->models, at)((struct entry *)lh_entry_v(at))->fresh_until = 0;
	pthread_mutex_unlock(&r->lock);
}

/* --- a call */

/* xorshift64: any spread will do. */
static uint32_t random_number(struct router *r)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return (uint32_t)(r->seed >> 32);
}

static bool was_tried(const struct route_pick *p, const struct router_node *n)
{
	for (size_t i = 0; i < p->n_tried; i++)
		if (p->tried[i] == n)
			return true;
	return false;
}

/* The latency that stands in for one that is not known: the others' mean. */
static double usual_latency(const struct entry *e)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < e->n; i++) {
		if (e->nodes[i]->balance.latency_ms > 0) {
			sum += e->nodes[i]->balance.latency_ms;
			known++;
		}
	}
	return known > 0 ? sum / (double)known : 0;
}

static void take(struct route_pick *p, struct router_node *n, int64_t now)
{
	p->node = n;
	p->http2 = n->http2;
	p->since = now;
	snprintf(p->name, sizeof p->name, "%s", n->name);
	snprintf(p->base_url, sizeof p->base_url, "%s", n->base_url);
	n->refs++;
	n->balance.inflight++;
	n->requests++;
}

static long shorter(long a, int64_t b)
{
	return b < a ? (long)(b > 0 ? b : 0) : a;
}

/* Those that can take a call now, into ret; ROUTE_OK if there are any. */
static enum route_found find_open(
    const struct entry *e, struct route_pick *p, struct router_node **ret, size_t *ret_n, int64_t now)
{
	bool full = false;
	size_t n = 0;

	p->retry_after_ms = 60000;
	for (size_t i = 0; i < e->n; i++) {
		struct router_node *node = e->nodes[i];

		if (node->draining || was_tried(p, node))
			continue;
		if (!node_open(&node->state, now)) {
			full |= !node->state.down;
			p->retry_after_ms = shorter(p->retry_after_ms, node->state.resume_at - now);
		} else if (node->balance.inflight >= node->max_inflight) {
			full = true;
			p->retry_after_ms = shorter(p->retry_after_ms, FULL_MS);
		} else {
			ret[n++] = node;
		}
	}
	*ret_n = n;
	return n > 0 ? ROUTE_OK : full ? ROUTE_FULL : ROUTE_DOWN;
}

static enum route_found choose(struct router *r, const struct entry *e, struct route_pick *p, int64_t now)
{
	struct router_node *open[CANDIDATES_MAX];
	double costs[CANDIDATES_MAX], usual = usual_latency(e);
	size_t n;
	enum route_found route = find_open(e, p, open, &n, now);

	if (route != ROUTE_OK)
		return route;
	for (size_t i = 0; i < n; i++)
		costs[i] = balance_cost(&open[i]->balance, usual, now);
	take(p, open[balance_choose(costs, n, random_number(r))], now);
	return ROUTE_OK;
}

enum route_found router_look(struct router *r, const char *model, long *ret_retry_after_ms, int64_t now)
{
	struct router_node *open[CANDIDATES_MAX];
	struct route_pick pick = {.n_tried = 0};
	enum route_found route = ROUTE_UNKNOWN;
	const struct entry *e;
	size_t n;

	pthread_mutex_lock(&r->lock);
	e = entry_of(r, model);
	if (e != NULL && now < e->fresh_until)
		route = e->n == 0 ? ROUTE_NONE : find_open(e, &pick, open, &n, now);
	pthread_mutex_unlock(&r->lock);
	*ret_retry_after_ms = pick.retry_after_ms;
	return route;
}

enum route_found router_choose(struct router *r, const char *model, struct route_pick *pick, int64_t now)
{
	enum route_found route = ROUTE_UNKNOWN;
	const struct entry *e;

	pick->node = NULL;
	pthread_mutex_lock(&r->lock);
	e = entry_of(r, model);
	if (e != NULL && now < e->fresh_until)
		route = e->n == 0 ? ROUTE_NONE : choose(r, e, pick, now);
	if (route == ROUTE_OK && pick->n_tried == 0)
		retry_earn(&r->budget);
	pthread_mutex_unlock(&r->lock);
	return route;
}

/* The pick's hold on its node ends. */
static void put_back(struct router *r, struct route_pick *p)
{
	struct router_node *n = p->node;

	if (p->n_tried < ROUTER_TRIED_MAX)
		p->tried[p->n_tried++] = n;
	p->node = NULL;
	n->balance.inflight--;
	let_go(r, n);
	pthread_cond_signal(&r->freed);
}

static void learn_failure(struct router *r, struct router_node *n, const struct entry *e, enum call_end end,
    long retry_after_ms, const char *reason, int64_t now)
{
	bool others = has_other_open(e, n, now), was_down = n->state.down;

	n->failures++;
	metrics_add(r->metrics, METRIC_NODE_FAILURES);
	snprintf(n->reason, sizeof n->reason, "%s", reason);
	ident_clean(n->reason);
	if (end == CALL_BUSY) {
		node_failed(&n->state, NODE_BUSY, retry_after_ms, now, random_number(r));
	} else if (end == CALL_UNREACHABLE) {
		node_failed(&n->state, NODE_UNREACHABLE, 0, now, random_number(r));
	} else if (others || r->patient) {
		node_failed(&n->state, NODE_FAULTY, retry_after_ms, now, random_number(r));
		if (others && node_eject(&n->state, now)) {
			n->ejections++;
			metrics_add(r->metrics, METRIC_NODE_EJECTIONS);
		}
	}
	n->urgent |= n->state.down && !was_down;
}

void router_end(struct router *r, const char *model, struct route_pick *pick, enum call_end end, long retry_after_ms,
    const char *reason, int64_t now)
{
	struct router_node *n = pick->node;

	metrics_observe(r->metrics, HISTOGRAM_NODE_CALL, (now - pick->since) * 1000);
	pthread_mutex_lock(&r->lock);
	if (end == CALL_WORKED) {
		balance_sample(&n->balance, (double)(now - pick->since), now);
		if (n->state.down)
			come_back(n, now);
		else
			node_worked(&n->state);
	} else {
		learn_failure(r, n, entry_of(r, model), end, retry_after_ms, reason, now);
	}
	put_back(r, pick);
	pthread_mutex_unlock(&r->lock);
}

void router_drop(struct router *r, struct route_pick *pick)
{
	pthread_mutex_lock(&r->lock);
	put_back(r, pick);
	pthread_mutex_unlock(&r->lock);
}

bool router_may_retry(struct router *r, enum call_end end, bool repeatable)
{
	bool may = retry_is_safe(end, repeatable);

	/* A call that reached nobody was no load to anybody. */
	if (may && end != CALL_UNREACHABLE) {
		pthread_mutex_lock(&r->lock);
		may = retry_spend(&r->budget);
		pthread_mutex_unlock(&r->lock);
	}
	if (may)
		metrics_add(r->metrics, METRIC_NODE_RETRIES);
	return may;
}

void router_wait(struct router *r, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&r->lock);
	pthread_cond_timedwait(&r->freed, &r->lock, &until);
	pthread_mutex_unlock(&r->lock);
}

/* --- probes */

struct router_node *router_probe(struct router *r, char *ret_url, size_t size, bool *ret_http2, int64_t now)
{
	struct router_node *found = NULL;
	struct lh_entry *at;

	pthread_mutex_lock(&r->lock);
	lh_foreach(r->nodes, at)
	{
		struct router_node *n = lh_entry_v(at);

		if (!n->probing && !n->draining && node_wants_probe(&n->state, now)) {
			found = n;
			break;
		}
	}
	if (found != NULL) {
		found->probing = true;
		metrics_add(r->metrics, METRIC_NODE_PROBES);
		found->refs++;
		*ret_http2 = found->http2;
		snprintf(ret_url, size, "%s%s", found->base_url, found->health_path);
	}
	pthread_mutex_unlock(&r->lock);
	return found;
}

void router_probed(struct router *r, struct router_node *n, bool healthy, const char *reason, int64_t now)
{
	pthread_mutex_lock(&r->lock);
	n->probing = false;
	if (healthy) {
		come_back(n, now);
	} else {
		node_failed(&n->state, NODE_UNREACHABLE, 0, now, random_number(r));
		snprintf(n->reason, sizeof n->reason, "%s", reason);
		ident_clean(n->reason);
		n->heard = false;
	}
	let_go(r, n);
	pthread_cond_broadcast(&r->freed);
	pthread_mutex_unlock(&r->lock);
}

int64_t router_probe_at(struct router *r)
{
	int64_t at = INT64_MAX;
	struct lh_entry *i;

	pthread_mutex_lock(&r->lock);
	lh_foreach(r->nodes, i)
	{
		struct router_node *n = lh_entry_v(i);

		if (n->state.down && !n->probing && !n->draining && n->state.resume_at < at)
			at = n->state.resume_at;
	}
	pthread_mutex_unlock(&r->lock);
	return at;
}

/* --- reports */

static struct json_object *news_of(struct router_node *n, int64_t now)
{
	struct json_object *o = json_object_new_object();
	bool out = n->state.down && !n->heard;
	int64_t out_ms = n->state.resume_at > now ? n->state.resume_at - now : 1000;

	json_object_object_add(o, "node", json_object_new_string(n->name));
	json_object_object_add(o, "out_ms", out ? json_object_new_int64(out_ms) : NULL);
	json_object_object_add(o, "reason", n->reason[0] != '\0' ? json_object_new_string(n->reason) : NULL);
	json_object_object_add(o, "inflight", json_object_new_int64(n->balance.inflight));
	json_object_object_add(
	    o, "latency_ms", n->balance.latency_ms > 0 ? json_object_new_double(n->balance.latency_ms) : NULL);
	json_object_object_add(o, "requests", json_object_new_int64((int64_t)n->requests));
	json_object_object_add(o, "failures", json_object_new_int64((int64_t)n->failures));
	json_object_object_add(o, "ejections", json_object_new_int64((int64_t)n->ejections));
	json_object_object_add(o, "changed", json_object_new_boolean(n->urgent));
	return o;
}

struct json_object *router_news(struct router *r, bool all, int64_t now)
{
	struct json_object *list = NULL;
	struct lh_entry *at;

	pthread_mutex_lock(&r->lock);
	lh_foreach(r->nodes, at)
	{
		struct router_node *n = lh_entry_v(at);

		if (!n->urgent && !all)
			continue;
		if (list == NULL)
			list = json_object_new_array();
		json_object_array_add(list, news_of(n, now));
		n->urgent = false;
	}
	pthread_mutex_unlock(&r->lock);
	return list;
}

/* --- */

struct router *router_new(bool patient, struct metrics *metrics)
{
	struct router *r = calloc(1, sizeof *r);
	pthread_condattr_t monotonic;
	struct timespec now;

	if (r == NULL)
		return NULL;
	r->nodes = lh_kchar_table_new(HASH_SIZE, free_node);
	r->models = lh_kchar_table_new(HASH_SIZE, NULL);
	if (r->nodes == NULL || r->models == NULL) {
		router_free(r);
		return NULL;
	}
	r->patient = patient;
	r->metrics = metrics;
	clock_gettime(CLOCK_MONOTONIC, &now);
	r->seed = (uint64_t)now.tv_nsec * 2654435761U + 88172645463325252U;
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->freed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return r;
}

void router_free(struct router *r)
{
	if (r == NULL)
		return;
	while (r->models != NULL && lh_table_head(r->models) != NULL)
		forget_model(r, lh_table_head(r->models));
	if (r->models != NULL)
		lh_table_free(r->models);
	if (r->nodes != NULL)
		lh_table_free(r->nodes); /* frees the nodes that are left */
	free(r);
}
