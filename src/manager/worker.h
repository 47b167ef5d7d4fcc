/* SPDX-License-Identifier: Apache-2.0
 * The life of a worker on this host: started, probed until it answers, ready, stopped, ended. */
#ifndef CAM_WORKER_H
#define CAM_WORKER_H

#include "manager/manager.h"

struct worker *worker_find(struct manager *m, const char *id);
/* A worker to be started as spec says; takes a reference to it. */
void worker_begin(struct manager *m, struct json_object *spec);
/* One that an earlier life of this manager left running. NULL: out of memory. */
struct worker *worker_adopt(struct manager *m, const char *id, const struct driver *driver);
/* Ends it: asked first, made after grace_ms. Doing so again changes nothing. */
void worker_stop(struct manager *m, struct worker *w, int64_t grace_ms);
/* Everything due: probes, time-outs, kills, and what the database has not yet been told. Returns when to call again. */
int64_t workers_tick(struct manager *m, int64_t now);
void workers_free(struct manager *m);

/* From drivers. */
void worker_started(struct manager *m, struct worker *w);
void worker_start_failed(struct manager *m, struct worker *w, const char *why);
/* how: such as "exit status 1"; tail: the end of its log, or "". */
void worker_ended(struct manager *m, struct worker *w, const char *how, const char *tail);

/* Members of spec, with a fallback where they are absent. */
const char *worker_text(const struct worker *w, const char *name);
long worker_number(const struct worker *w, const char *name, long fallback);

#endif
