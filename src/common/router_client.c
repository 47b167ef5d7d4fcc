/* SPDX-License-Identifier: Apache-2.0 */
#include "common/router_client.h"

#include "common/clock.h"
#include "common/ident.h"
#include "common/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DB_TIMEOUT_MS = 5000,
	REPORT_MS = 5000,
	RETRY_MS = 1000,
	PROBE_TIMEOUT_MS = 3000,
	PROBE_ANSWER_MAX = 64 * 1024,
	MODEL_MAX = 128,
	PROBES_MAX = 64
};

struct probe {
	struct router_client *client; /* NULL: free */
	struct router_node *node;
	struct http_transfer *transfer;
};

struct router_client {
	struct router *router;
	struct dbq *db, *ear;
	struct http *http;
	const char *name;
	char id[UUID_TEXT_LEN + 1];
	bool reporting, fetching;
	int64_t report_due, fetch_due;
	char model[MODEL_MAX + 1]; /* being fetched */
	struct probe probes[PROBES_MAX];
};

struct router_client *router_client_new(
    struct router *r, struct dbq *db, struct http *http, const char *database_url, const char *name)
{
	struct router_client *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->router = r;
	c->db = db;
	c->http = http;
	c->name = name;
	ident_new_uuid(c->id);
	c->ear = dbq_new(database_url, name, DB_TIMEOUT_MS);
	if (c->ear == NULL) {
		free(c);
		return NULL;
	}
	dbq_listen(c->ear, "cam_nodes");
	return c;
}

void router_client_free(struct router_client *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < PROBES_MAX; i++)
		if (c->probes[i].client != NULL)
			http_cancel(c->probes[i].transfer);
	dbq_free(c->ear);
	free(c);
}

struct dbq *router_client_ear(struct router_client *c)
{
	return c->ear;
}

static bool is_good(const PGresult *result)
{
	return result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
}

/* --- candidates */

static void fetched(void *arg, PGresult *result, const char *error)
{
	struct router_client *c = arg;
	struct json_object *candidates;

	c->fetching = false;
	if (!is_good(result)) {
		c->fetch_due = clock_ms() + RETRY_MS;
		if (result != NULL)
			log_error("the nodes of %s: %s", c->model, error);
		return;
	}
	candidates = json_tokener_parse(PQgetvalue(result, 0, 0));
	router_fill(c->router, c->model, candidates, clock_ms());
	json_object_put(candidates);
}

void router_client_want(struct router_client *c, const char *model, int64_t now)
{
	if (c->fetching || now < c->fetch_due || !dbq_connected(c->db) || router_knows(c->router, model, now))
		return;
	snprintf(c->model, sizeof c->model, "%s", model);
	c->fetching =
	    dbq_submit(c->db, "SELECT camserver.node_candidates($1)", 1, (const char *[]){c->model}, fetched, c) == 0;
}

/* --- probes */

static void probed(void *arg, const struct http_answer *a)
{
	struct probe *p = arg;
	bool healthy = a->status >= 200 && a->status < 300;
	char reason[300];

	if (a->status != 0)
		snprintf(reason, sizeof reason, "its health probe was answered with %ld", a->status);
	else
		snprintf(reason, sizeof reason, "its health probe failed: %s", a->fault);
	router_probed(p->client->router, p->node, healthy, reason, clock_ms());
	p->client = NULL;
}

static struct probe *free_probe(struct router_client *c)
{
	for (size_t i = 0; i < PROBES_MAX; i++)
		if (c->probes[i].client == NULL)
			return &c->probes[i];
	return NULL;
}

static void probe_what_is_due(struct router_client *c, int64_t now)
{
	char url[ROUTER_URL_MAX + ROUTER_HEALTH_MAX + 1];
	bool http2;
	struct probe *p;

	while (
	    (p = free_probe(c)) != NULL && (p->node = router_probe(c->router, url, sizeof url, &http2, now)) != NULL) {
		p->client = c;
		p->transfer = http_start(c->http,
		    &(struct http_request){.method = "GET",
			.url = url,
			.timeout_ms = PROBE_TIMEOUT_MS,
			.answer_max = PROBE_ANSWER_MAX,
			.http2 = http2},
		    probed, p);
		if (p->transfer == NULL) {
			router_probed(c->router, p->node, false, "out of memory", now);
			p->client = NULL;
		}
	}
}

/* --- reports */

static void reported(void *arg, PGresult *result, const char *error)
{
	struct router_client *c = arg;

	(void)error; /* the next report says it all */
	c->reporting = false;
	if (!is_good(result))
		c->report_due = clock_ms() + RETRY_MS;
}

static void report(struct router_client *c, int64_t now)
{
	bool all = now >= c->report_due;
	struct json_object *news;

	if (c->reporting || !dbq_connected(c->db) || (news = router_news(c->router, all, now)) == NULL)
		return;
	if (all)
		c->report_due = now + REPORT_MS;
	c->reporting =
	    dbq_submit(c->db, "SELECT camserver.node_report($1, $2, $3::jsonb)", 3,
		(const char *[]){c->id, c->name, json_object_to_json_string_ext(news, JSON_C_TO_STRING_PLAIN)},
		reported, c) == 0;
	json_object_put(news);
}

int64_t router_client_tick(struct router_client *c, int64_t now)
{
	int64_t until;

	dbq_step(c->ear, now);
	if (dbq_notified(c->ear))
		router_invalidate(c->router);
	probe_what_is_due(c, now);
	report(c, now);
	until = router_probe_at(c->router);
	return c->report_due > now && c->report_due < until ? c->report_due
	       : until < now + REPORT_MS                    ? until
							    : now + REPORT_MS;
}
