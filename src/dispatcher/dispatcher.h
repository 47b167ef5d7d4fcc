/* SPDX-License-Identifier: Apache-2.0
 * The state of one cam-dispatcher process. Each kind of work is a module with a tick: called on every turn of the
 * loop with the time, it does what is due, never waits, and returns when it wants to be called again. */
#ifndef CAM_DISPATCHER_H
#define CAM_DISPATCHER_H

#include "common/conf.h"
#include "common/dbq.h"
#include "common/ident.h"
#include "common/metrics.h"
#include "policy/health.h"
#include "policy/node.h"
#include "policy/retention.h"

#include <stdbool.h>
#include <stdint.h>

struct http;
struct http_transfer;
struct job;
struct json_object;
struct pool_client;
struct router;
struct router_client;
struct tasks;

enum { DISPATCHER_URL_MAX = 512 };

/* Elements of a jsonb array on their way into the database. */
struct outbox {
	struct json_object *waiting, *sent;
	size_t singles; /* so many from the front go one by one: their batch was refused */
	int64_t due;    /* not before */
};

/* Jobs of one kind that this process has claimed and not yet handed to commit. */
struct lane {
	struct job *jobs;
	size_t held, sending;
	size_t inflight_max;
};

enum followup { FOLLOWUP_ARCHIVE, FOLLOWUP_NOTIFY, FOLLOWUP_ESCALATE, FOLLOWUPS };

struct dispatcher {
	struct conf conf;
	struct dbq *db;
	struct metrics *metrics;
	struct http *http;
	struct tasks *tasks;
	struct dbq *ear; /* hears of new jobs on a connection of its own */
	struct router *router;
	struct router_client *router_client;
	struct pool_client *pools;
	int signal_fd;
	char id[UUID_TEXT_LEN + 1]; /* of this process start */
	char permit_channel[UUID_TEXT_LEN + 8];

	struct {
		bool registered, asking, stopping, stopped;
		bool node_configured; /* IS21_BASE_URL is in the table of nodes */
		int64_t due;
		int64_t interval_ms;
	} membership;
	struct {
		struct health_state state;
		struct health_limits limits;
		int64_t seq;
		bool known, asking; /* known: seq and state are the database's */
		int64_t due;
		uint64_t cpu_busy, cpu_total; /* of the last sample */
		double cpu_percent;
	} sampler;
	struct {
		bool asking;
		int64_t due;
	} sweeper, counters;
	struct janitor *janitor;
	struct outbox results, followup_results, failures;
	int64_t backoff_base_ms, backoff_max_ms;
	struct retention_rules retention;
	bool stopping; /* no new jobs */
	struct {
		struct lane lane;
		bool claiming;
		bool limited; /* calls need permits: the last claim said so */
		bool in_line; /* for a permit: a place in the model's queue is kept */
		bool again;   /* something was heard while a claim was under way */
		bool awake;   /* the last claim got something */
		int64_t due;
		char pool[IDENT_MAX + 1];  /* whose workers are called instead of nodes; "": none */
		struct node_state trouble; /* with the pool, or with telling a node its schema */
		bool away;                 /* no node can be called, and it was said */
		struct http_transfer *push;
		bool asking_push;
		char push_url[DISPATCHER_URL_MAX]; /* the node that is being told its schema */
	} analyze;
	struct {
		struct lane lanes[FOLLOWUPS];
		bool claiming;
		bool llm_known; /* LLM_MODEL can be asked where its provider says */
		bool in_line;   /* as above, of LLM_MODEL */
		int64_t due;
		struct node_state archive; /* rclone's, or the directory's */
	} followups;
};

/* The model whose nodes, limits and pool hold for analyses. */
static inline const char *analyze_model(const struct dispatcher *d)
{
	return *d->conf.analyze_model != '\0' ? d->conf.analyze_model : "is21";
}

#endif
