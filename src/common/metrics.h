/* SPDX-License-Identifier: Apache-2.0
 * Numbers that all programs of a host share: one mapped file, 64-bit atomics, no lock to count. A crashed writer leaves
 * whole numbers behind. The file finds each number by its key, so programs of different versions share what both know;
 * one that is no such file is replaced, which begins a new epoch. What only a living process can say - gauges - stands
 * in a slot of its own, which counts for as long as the process lives. */
#ifndef CAM_METRICS_H
#define CAM_METRICS_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line a counter: enum suffix, key in the file and in the table host_counters, name and labels in /metrics, help.
 * The lines of a name stand together. */
#define METRICS(X) \
	X(LEASE_GRANTED, "lease_granted", "camserver_leases_granted_total", "", "Stream leases granted.") \
	X(LEASE_REFUSED_OVER_CAPACITY, "lease_refused_over_capacity", "camserver_leases_refused_total", \
	    "reason=\"OVER_CAPACITY\"", "Stream leases refused, by reason.") \
	X(LEASE_REFUSED_SYSTEM_OVERLOAD, "lease_refused_system_overload", "camserver_leases_refused_total", \
	    "reason=\"SYSTEM_OVERLOAD\"", "") \
	X(LEASE_REFUSED_USER_ALREADY_HAS_MODAL, "lease_refused_user_already_has_modal", \
	    "camserver_leases_refused_total", "reason=\"USER_ALREADY_HAS_MODAL\"", "") \
	X(HEARTBEAT_OK, "heartbeat_ok", "camserver_lease_heartbeats_total", "outcome=\"ok\"", \
	    "Heartbeats of stream leases, by outcome.") \
	X(HEARTBEAT_EXPIRED, "heartbeat_expired", "camserver_lease_heartbeats_total", "outcome=\"expired\"", "") \
	X(LEASE_RELEASED, "release_ok", "camserver_leases_released_total", "", "Stream leases given back.") \
	X(LEASES_SWEPT, "leases_swept", "camserver_leases_swept_total", "", \
	    "Stream leases ended by the sweep: past their time, or without heartbeat.") \
	X(REQUESTS, "requests", "camserver_requests_total", "", "HTTP requests answered.") \
	X(BAD_REQUESTS, "bad_requests", "camserver_bad_requests_total", "", "HTTP requests answered with 4xx.") \
	X(ANSWERS_REPEATED, "answers_repeated", "camserver_answers_repeated_total", "", \
	    "HTTP requests answered as a moment before, without the database.") \
	X(CHANGES, "changes", "camserver_changes_total", "", \
	    "Changes of leases, budgets and health on this host that ended the repeating of answers.") \
	X(DB_UNAVAILABLE, "db_unavailable", "camserver_database_unavailable_total", "", \
	    "HTTP requests that found no database.") \
	X(DB_ERRORS, "db_errors", "camserver_database_errors_total", "", \
	    "Statements that the database refused and that no program expected to be refused.") \
	X(DB_RECONNECTS, "db_reconnects", "camserver_database_reconnects_total", "program=\"camserver.fcgi\"", \
	    "Database connections that were lost and made again, by program.") \
	X(DB_RECONNECTS_GATEWAY, "db_reconnects_gateway", "camserver_database_reconnects_total", \
	    "program=\"gateway.fcgi\"", "") \
	X(DB_RECONNECTS_DISPATCHER, "db_reconnects_dispatcher", "camserver_database_reconnects_total", \
	    "program=\"cam-dispatcher\"", "") \
	X(DB_RECONNECTS_MANAGER, "db_reconnects_manager", "camserver_database_reconnects_total", \
	    "program=\"cam-manager\"", "") \
	X(FRAMES_ACCEPTED, "frames_accepted", "camserver_frames_accepted_total", "", \
	    "Frames taken in; a repeated one counts once.") \
	X(FRAMES_REFUSED_CAMERA, "frames_refused_camera", "camserver_frames_refused_total", "reason=\"camera_queue\"", \
	    "Frames refused because too many wait, by whose queue is full.") \
	X(FRAMES_REFUSED_QUEUE, "frames_refused_queue", "camserver_frames_refused_total", "reason=\"queue\"", "") \
	X(BACKPRESSURE_DELAYED_INGEST, "backpressure_delayed_ingest", "camserver_backpressure_delayed_total", \
	    "queue=\"ingest\"", "Requests that were accepted after a delay, by queue.") \
	X(BACKPRESSURE_DELAYED_GATEWAY, "backpressure_delayed_gateway", "camserver_backpressure_delayed_total", \
	    "queue=\"gateway\"", "") \
	X(BACKPRESSURE_REJECTIONS_INGEST, "backpressure_rejections_ingest", "camserver_backpressure_rejections_total", \
	    "queue=\"ingest\"", "Requests rejected by backpressure.") \
	X(BACKPRESSURE_REJECTIONS_GATEWAY, "backpressure_rejections_gateway", \
	    "camserver_backpressure_rejections_total", "queue=\"gateway\"", "") \
	X(JOBS_CLAIMED, "jobs_claimed", "camserver_job_attempts_total", "kind=\"analyze\"", \
	    "Jobs claimed, each an attempt, by kind.") \
	X(JOBS_CLAIMED_ARCHIVE, "jobs_claimed_archive", "camserver_job_attempts_total", "kind=\"archive\"", "") \
	X(JOBS_CLAIMED_NOTIFY, "jobs_claimed_notify", "camserver_job_attempts_total", "kind=\"notify\"", "") \
	X(JOBS_CLAIMED_ESCALATE, "jobs_claimed_escalate", "camserver_job_attempts_total", "kind=\"escalate\"", "") \
	X(JOBS_DONE, "jobs_done", "camserver_jobs_done_total", "kind=\"analyze\"", "Jobs done, by kind.") \
	X(JOBS_DONE_ARCHIVE, "jobs_done_archive", "camserver_jobs_done_total", "kind=\"archive\"", "") \
	X(JOBS_DONE_NOTIFY, "jobs_done_notify", "camserver_jobs_done_total", "kind=\"notify\"", "") \
	X(JOBS_DONE_ESCALATE, "jobs_done_escalate", "camserver_jobs_done_total", "kind=\"escalate\"", "") \
	X(JOBS_FAILED, "jobs_failed", "camserver_job_failures_total", "kind=\"analyze\"", \
	    "Attempts that failed and count against the job, by kind.") \
	X(JOBS_FAILED_ARCHIVE, "jobs_failed_archive", "camserver_job_failures_total", "kind=\"archive\"", "") \
	X(JOBS_FAILED_NOTIFY, "jobs_failed_notify", "camserver_job_failures_total", "kind=\"notify\"", "") \
	X(JOBS_FAILED_ESCALATE, "jobs_failed_escalate", "camserver_job_failures_total", "kind=\"escalate\"", "") \
	X(JOBS_RETRIED, "jobs_retried", "camserver_jobs_retried_total", "", "Jobs put back for another attempt.") \
	X(JOBS_DEAD, "jobs_dead", "camserver_jobs_dead_total", "", "Jobs that a failed attempt has ended for good.") \
	X(JOBS_RESCUED, "jobs_rescued", "camserver_jobs_rescued_total", "", \
	    "Jobs taken from dispatchers that died or took too long.") \
	X(FENCED_WRITES, "fenced_writes", "camserver_fenced_writes_total", "", \
	    "Late writes for jobs that somebody else had been given.") \
	X(ARCHIVED, "archived", "camserver_archived_total", "", "Images stored in the archive.") \
	X(NOTIFIED, "notified", "camserver_notifications_sent_total", "", "Notifications delivered.") \
	X(LLM_REQUESTS, "llm_requests", "camserver_llm_requests_total", "", "Questions put to the language model.") \
	X(SCHEMA_PUSHES, "schema_pushes", "camserver_schema_pushes_total", "", \
	    "Times that a node was told its tag schema.") \
	X(NODE_REQUESTS, "node_requests", "camserver_node_requests_total", "", "Calls to inference nodes.") \
	X(NODE_CONNECTIONS, "node_connections", "camserver_node_connections_opened_total", "", \
	    "Connections opened to inference nodes.") \
	X(NODE_FAILURES, "node_failures", "camserver_node_failures_total", "", \
	    "Calls to inference nodes that a node failed.") \
	X(NODE_EJECTIONS, "node_ejections", "camserver_node_ejections_total", "", \
	    "Times that a node was left alone after failures.") \
	X(NODE_RETRIES, "node_retries", "camserver_node_retries_total", "", "Calls repeated on another node.") \
	X(NODE_PROBES, "node_probes", "camserver_node_probes_total", "", "Probes of nodes that had been ejected.") \
	X(NO_NODE, "no_node", "camserver_node_unavailable_total", "reason=\"none\"", \
	    "Calls that no node could take, by reason: none there, or all full.") \
	X(NODES_FULL, "nodes_full", "camserver_node_unavailable_total", "reason=\"full\"", "") \
	X(CACHE_HITS, "cache_hits", "camserver_cache_hits_total", "", "Node selection cache hits.") \
	X(CACHE_MISSES, "cache_misses", "camserver_cache_misses_total", "", "Node selection cache misses.") \
	X(PERMITS_GRANTED, "permits_granted", "camserver_permits_total", "outcome=\"granted\"", \
	    "Model calls that asked for a permit, by outcome.") \
	X(PERMITS_REFUSED, "permits_refused", "camserver_permits_total", "outcome=\"refused\"", "") \
	X(PERMITS_CANCELLED, "permits_cancelled", "camserver_permits_total", "outcome=\"cancelled\"", "") \
	X(PERMITS_FAILED, "permits_failed", "camserver_permits_total", "outcome=\"failed\"", "") \
	X(POOL_GRANTED, "pool_granted", "camserver_pool_calls_total", "outcome=\"granted\"", \
	    "Calls that asked for a worker of a pool, by outcome.") \
	X(POOL_REFUSED, "pool_refused", "camserver_pool_calls_total", "outcome=\"refused\"", "") \
	X(WORKERS_READY, "workers_ready", "camserver_worker_starts_total", "outcome=\"ready\"", \
	    "Starts of workers on this host, by outcome.") \
	X(WORKERS_FAILED, "workers_failed", "camserver_worker_starts_total", "outcome=\"failed\"", "") \
	X(WORKERS_ENDED, "workers_ended", "camserver_worker_ends_total", "", "Workers of this host that ended.")

enum metric {
#define X(id, key, name, labels, help) METRIC_##id,
	METRICS(X)
#undef X
	    METRIC_COUNT
};

/* What kind of request it was, in the durations of requests. */
#define METRIC_ROUTES(X) \
	X(OTHER, "other") \
	X(LEASE, "lease") \
	X(STATUS, "status") \
	X(FRAMES, "frames") \
	X(EVENTS, "events") \
	X(MEDIA, "media") \
	X(ADMIN, "admin") \
	X(INFER, "infer") \
	X(HEALTH, "health")

enum metric_route {
#define X(id, name) ROUTE_##id,
	METRIC_ROUTES(X)
#undef X
	    ROUTE_COUNT
};

/* One line a histogram besides those of the requests: enum suffix, key, name, labels, help. */
#define METRIC_HISTOGRAMS(X) \
	X(DATABASE, "database", "camserver_database_call_duration_seconds", "", \
	    "Duration of a request's database call.") \
	X(JOB_ANALYZE, "job_analyze", "camserver_job_duration_seconds", "kind=\"analyze\"", \
	    "Duration of an attempt at a job, from its claim on, by kind.") \
	X(JOB_ARCHIVE, "job_archive", "camserver_job_duration_seconds", "kind=\"archive\"", "") \
	X(JOB_NOTIFY, "job_notify", "camserver_job_duration_seconds", "kind=\"notify\"", "") \
	X(JOB_ESCALATE, "job_escalate", "camserver_job_duration_seconds", "kind=\"escalate\"", "") \
	X(NODE_CALL, "node_call", "camserver_node_call_duration_seconds", "", \
	    "Duration of a call to an inference node.") \
	X(PERMIT_WAIT, "permit_wait", "camserver_permit_wait_seconds", "", \
	    "How long model calls waited for their permit.") \
	X(MODEL_CALL, "model_call", "camserver_model_call_duration_seconds", "", \
	    "Duration of a model call with its permit in hand.") \
	X(POOL_WAIT, "pool_wait", "camserver_pool_wait_seconds", "", "How long calls waited for a worker of a pool.") \
	X(DELAY_INGEST, "delay_ingest", "camserver_backpressure_delay_seconds", "queue=\"ingest\"", \
	    "Delays given to requests that were accepted late, by queue.") \
	X(DELAY_GATEWAY, "delay_gateway", "camserver_backpressure_delay_seconds", "queue=\"gateway\"", "")

enum metric_histogram {
#define X(id, key, name, labels, help) HISTOGRAM_##id,
	METRIC_HISTOGRAMS(X)
#undef X
	    HISTOGRAM_COUNT
};

/* Gauges of a process, summed over the processes that live. Stored by number: append only. */
#define METRIC_GAUGES(X) \
	X(GATEWAY_WAITING, "camserver_queue_size", "queue=\"gateway\"", "What waits now, by queue.") \
	X(GATEWAY_WAITING_MAX, "camserver_queue_limit", "queue=\"gateway\"", "What may wait at most, by queue.") \
	X(POOL_CONNECTIONS, "camserver_pool_connections", "", "Open connections to nodes and providers.") \
	X(MODEL_CALLS, "camserver_model_calls", "", "Model calls under way.")

enum metric_gauge {
#define X(id, name, labels, help) GAUGE_##id,
	METRIC_GAUGES(X)
#undef X
	    GAUGE_COUNT
};

enum { METRICS_EPOCH_LEN = 32, METRICS_BUCKETS = 11, METRICS_STATUS_CLASSES = 4, METRICS_PROGRAM_MAX = 24 };

/* Upper bounds of the histograms' buckets, in microseconds; one more bucket is for what is above. */
extern const int64_t metrics_bounds_us[METRICS_BUCKETS];

struct metrics;

/* Opens or makes dir/metrics. On failure NULL and *e; every function below accepts NULL and then does nothing, so
 * that a program works without its counters. */
struct metrics *metrics_open(const char *dir, struct err *e);
void metrics_close(struct metrics *m);

/* Any thread may call these. */
void metrics_add(struct metrics *m, enum metric which);
void metrics_add_n(struct metrics *m, enum metric which, uint64_t n);
void metrics_observe(struct metrics *m, enum metric_histogram which, int64_t us);
void metrics_observe_request(struct metrics *m, enum metric_route route, int status, int64_t us);
/* Adds to this process's gauge; without metrics_join() nothing happens. */
void metrics_gauge_add(struct metrics *m, enum metric_gauge which, int64_t n);
void metrics_gauge_set(struct metrics *m, enum metric_gauge which, int64_t value);

/* Takes a slot for this process's gauges, under the program's name. Given back by the end of the process, however it
 * ends. Without a free slot there are no gauges. */
void metrics_join(struct metrics *m, const char *program);

/* --- reading */

uint64_t metrics_get(const struct metrics *m, enum metric which);
const char *metrics_key(enum metric which);
/* The life of this file: METRICS_EPOCH_LEN hex digits. */
const char *metrics_epoch(const struct metrics *m);

struct metrics_histogram {
	uint64_t counts[METRICS_BUCKETS + 1]; /* not cumulated */
	uint64_t sum_us;
};

void metrics_read(const struct metrics *m, enum metric_histogram which, struct metrics_histogram *ret);
/* class: status / 100 - 2, from 0 to METRICS_STATUS_CLASSES - 1. */
void metrics_read_requests(
    const struct metrics *m, enum metric_route route, unsigned class, struct metrics_histogram *ret);

/* A slot whose process lives: its program and gauges. Calls visit for each. */
typedef void metrics_visit(void *arg, const char *program, const int64_t gauges[GAUGE_COUNT]);
void metrics_processes(const struct metrics *m, metrics_visit *visit, void *arg);

#endif
