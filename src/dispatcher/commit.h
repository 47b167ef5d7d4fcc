/* SPDX-License-Identifier: Apache-2.0
 * The way back into the database: results and failures of jobs, collected while the last batch is under way and
 * written together. One bad element does not sink its batch; nothing is lost while the database is away. */
#ifndef CAM_COMMIT_H
#define CAM_COMMIT_H

#include "common/buf.h"
#include "dispatcher/dispatcher.h"

#include <json-c/json.h>

/* Takes over item: an element of analysis_complete()'s array. */
void commit_result(struct dispatcher *d, struct json_object *item);
/* Takes over item: an element of followup_complete()'s array. */
void commit_followup(struct dispatcher *d, struct json_object *item);
/* An element of job_fail()'s array. */
struct commit_failure {
	int64_t job_id, token;
	const char *error;
	const char *permit; /* of the call, which is over; NULL or "": none */
	int64_t delay_ms;
	bool final;  /* dead at once */
	bool refund; /* the attempt does not count */
};
void commit_failure(struct dispatcher *d, const struct commit_failure *f);
/* Elements not yet known to be written. */
size_t commit_pending(const struct dispatcher *d);
/* Adds the permits that are given back with what is not yet known to be written, each with a comma before it. */
void commit_permits(const struct dispatcher *d, struct buf *out);
void commit_free(struct dispatcher *d);
int64_t commit_tick(struct dispatcher *d, int64_t now);

#endif
