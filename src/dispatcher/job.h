/* SPDX-License-Identifier: Apache-2.0
 * One claimed job, from the claim until its result or failure is handed to commit. */
#ifndef CAM_JOB_H
#define CAM_JOB_H

#include "common/spool.h"
#include "dispatcher/dispatcher.h"
#include "dispatcher/reader.h"

enum { JOB_TIME_MAX = 40, JOB_ERROR_MAX = 500 };

enum job_state { JOB_READING, JOB_READY, JOB_SENDING };

struct job {
	struct job *next;
	struct dispatcher *d;
	enum job_state state;
	int64_t id, token;
	unsigned attempt;
	char frame_uuid[UUID_TEXT_LEN + 1];
	char camera_id[IDENT_MAX + 1];
	char captured_at[JOB_TIME_MAX];
	char path[SPOOL_PATH_MAX];
	struct reader_request image;
	struct http_transfer *transfer;
};

/* From a row of job_claim(), into d->analyze.jobs. NULL: out of memory; then the deadline rescues the job. */
struct job *job_new(struct dispatcher *d, PGresult *claim, int row);
/* Takes it out of d->analyze.jobs and frees it with its image. Not while the reader has it. */
void job_free(struct job *j);
/* Hands the failure to commit and frees the job. */
void job_fail(struct job *j, const char *error, int64_t delay_ms, bool final, bool refund);
/* Waits as the policy says for this attempt, or at least as long as the node asked for. */
void job_fail_backoff(struct job *j, const char *error, int64_t at_least_ms);

#endif
