/* SPDX-License-Identifier: Apache-2.0
 * The state of one cam-manager process: the workers of this host as they really are. The database says what should run;
 * reconcile.c puts the two side by side, worker.c leads each worker through its life, a driver does what is done to it.
 */
#ifndef CAM_MANAGER_H
#define CAM_MANAGER_H

#include "common/conf.h"
#include "common/dbq.h"
#include "common/http.h"
#include "common/ident.h"
#include "common/metrics.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct manager;
struct worker;

/* What a kind of worker needs. All calls return at once; what they bring about is told with worker_started(),
 * worker_start_failed() and worker_ended(). */
struct driver {
	const char *name;
	/* Begins to start it. -1 and *e: it cannot be. */
	int (*start)(struct manager *m, struct worker *w, struct err *e);
	/* Asks it to end; kill makes it. */
	void (*stop)(struct manager *m, struct worker *w);
	void (*kill)(struct manager *m, struct worker *w);
	/* Lets go of what the driver keeps of a worker that ended. */
	void (*forget)(struct manager *m, struct worker *w);
};

extern const struct driver driver_exec, driver_docker;

enum worker_phase {
	WORKER_STARTING, /* the driver is at it */
	WORKER_PROBING,  /* it runs, and does not answer yet */
	WORKER_READY,    /* or adopted: the database has it */
	WORKER_STOPPING,
	WORKER_ENDED, /* nothing runs any more; the database is being told */
};

enum { CONTAINER_ID_MAX = 64, WORKER_REASON_MAX = 4096, TOKEN_TEXT_MAX = 24 };

struct worker {
	struct worker *next;
	struct manager *manager;
	const struct driver *driver;
	char id[UUID_TEXT_LEN + 1];
	char token[TOKEN_TEXT_MAX];
	enum worker_phase phase;
	struct json_object *spec; /* what the database said; NULL: adopted from an earlier life */
	int port;
	int64_t started, deadline; /* of the start */
	int64_t probe_at, probe_pause_ms;
	int64_t kill_at, grace_ms;
	bool killed, telling, orphan;
	struct http_transfer *probe;
	char fault[256];                /* why the last probe was no good */
	char reason[WORKER_REASON_MAX]; /* ENDED: how, and the end of its log */
	/* exec */
	pid_t pid;
	int pidfd;
	bool child; /* ours to wait for */
	/* docker */
	char container[CONTAINER_ID_MAX + 1];
	struct http_transfer *transfer; /* what is being done to the container */
	bool burying, listed, died, oom;
};

struct manager {
	struct conf conf;
	struct dbq *db, *ear;
	struct http *http;
	struct metrics *metrics;
	int signal_fd, exit_fd; /* exit_fd: an epoll of all pidfds */
	int lock_fd;
	char id[UUID_TEXT_LEN + 1]; /* of this process start */
	struct worker *workers;
	struct {
		bool registered, asking, reaping, stopping, stopped;
		bool purged; /* no orphan of an earlier life is left */
		int64_t due, reap_due;
		int64_t logs_due;
	} sync;
	struct docker *docker;
};

#endif
