/* SPDX-License-Identifier: Apache-2.0
 * One claimed job, from the claim until its result or failure is handed to commit. */
#ifndef CAM_JOB_H
#define CAM_JOB_H

#include "common/pool_client.h"
#include "common/router.h"
#include "common/spool.h"
#include "dispatcher/dispatcher.h"
#include "dispatcher/tasks.h"

#include <json-c/json.h>

enum { JOB_TIME_MAX = 40, JOB_ERROR_MAX = 500, JOB_PATH_MAX = SPOOL_PATH_MAX + 512 };

enum job_state { JOB_READING, JOB_READY, JOB_SENDING };

struct job {
	struct job *next;
	struct dispatcher *d;
	struct lane *lane;
	enum job_state state;
	int64_t claimed_us;
	int64_t id, token;
	unsigned attempt;
	char frame_uuid[UUID_TEXT_LEN + 1]; /* "" for a job without a frame */
	char camera_id[IDENT_MAX + 1];
	char captured_at[JOB_TIME_MAX];
	char permit[UUID_TEXT_LEN + 1];                    /* of its call; "" if it needs none */
	char path[JOB_PATH_MAX], other_path[JOB_PATH_MAX]; /* where the image may lie */
	struct picture picture;
	struct http_transfer *transfer;
	/* Where its call goes, and what it holds of that: given back by job_call_ended(), or when the job is freed. */
	char base_url[ROUTER_URL_MAX + 1];
	struct route_pick route;   /* a node; route.node is NULL while it has none */
	struct pool_wait *waiting; /* for a worker */
	struct pool_lease *worker;
	struct json_object *facts; /* of a follow-up */
	void *work;                /* of a follow-up while it is being done; malloc'ed */
};

#define JOB_OF_PICTURE(t) ((struct job *)((char *)(t)-offsetof(struct job, picture.task)))

/* From a row of a claim, into the lane; permit_column is the permit's. NULL: out of memory; then the deadline rescues
 * the job. */
struct job *job_new(struct dispatcher *d, struct lane *lane, PGresult *claim, int row, int permit_column);
/* Takes it out of its lane and frees it with its image. Not while a task has it. */
void job_free(struct job *j);
/* The call has ended: node or worker are told how, and free. reason: unless it worked. A worker that worked or was only
 * busy is used again, any other is not. */
void job_call_ended(struct job *j, enum call_end end, long retry_after_ms, const char *reason);
/* How long to leave a pool alone that refused: what it says, but not so long that one that is mended waits. */
int64_t job_pool_pause_ms(const struct pool_answer *refusal);
/* There was no worker to be had: the job waits, at least for that pause, and its attempt does not count. */
void job_fail_refused(struct job *j, const struct pool_answer *refusal);
/* Hands the failure to commit and frees the job. */
void job_fail(struct job *j, const char *error, int64_t delay_ms, bool final, bool refund);
/* Waits as the policy says for this attempt, or at least as long as the node asked for. */
void job_fail_backoff(struct job *j, const char *error, int64_t at_least_ms);

#endif
