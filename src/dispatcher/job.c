/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/job.h"

#include "common/clock.h"
#include "common/log.h"
#include "dispatcher/commit.h"
#include "policy/backoff.h"

#include <stdio.h>
#include <stdlib.h>

enum { POOL_PAUSE_MAX_MS = 5000 };

/* 0 analyze, then the follow-ups: the order in which metrics.h has them, too. */
static int kind_of(const struct job *j)
{
	return j->lane == &j->d->analyze.lane ? 0 : 1 + (int)(j->lane - j->d->followups.lanes);
}

struct job *job_new(struct dispatcher *d, struct lane *lane, PGresult *claim, int row, int permit_column)
{
	struct job *j = calloc(1, sizeof *j), **at;

	if (j == NULL)
		return NULL;
	j->d = d;
	j->lane = lane;
	j->id = strtoll(PQgetvalue(claim, row, 0), NULL, 10);
	j->token = strtoll(PQgetvalue(claim, row, 1), NULL, 10);
	j->attempt = (unsigned)strtoul(PQgetvalue(claim, row, 2), NULL, 10);
	snprintf(j->frame_uuid, sizeof j->frame_uuid, "%s", PQgetvalue(claim, row, 4));
	snprintf(j->camera_id, sizeof j->camera_id, "%s", PQgetvalue(claim, row, 5));
	snprintf(j->captured_at, sizeof j->captured_at, "%s", PQgetvalue(claim, row, 6));
	snprintf(j->permit, sizeof j->permit, "%s", PQgetvalue(claim, row, permit_column));
	for (at = &lane->jobs; *at != NULL;) /* a short list, and the queue's order */
		at = &(*at)->next;
	*at = j;
	lane->held++;
	j->claimed_us = clock_us();
	if (kind_of(j) > 0) /* analyses are counted with their claim */
		metrics_add(d->metrics, (enum metric)((int)METRIC_JOBS_CLAIMED + kind_of(j)));
	return j;
}

void job_free(struct job *j)
{
	struct job **at = &j->lane->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	metrics_observe(j->d->metrics, (enum metric_histogram)((int)HISTOGRAM_JOB_ANALYZE + kind_of(j)),
	    clock_us() - j->claimed_us);
	j->lane->held--;
	if (j->state == JOB_SENDING)
		j->lane->sending--;
	if (j->waiting != NULL)
		pool_cancel(j->waiting);
	if (j->worker != NULL)
		pool_evict(j->worker, "its call was broken off");
	if (j->route.node != NULL)
		router_drop(j->d->router, &j->route);
	free(j->picture.data);
	json_object_put(j->facts);
	free(j->work);
	free(j);
}

void job_call_ended(struct job *j, enum call_end end, long retry_after_ms, const char *reason)
{
	if (j->route.node != NULL)
		router_end(j->d->router, analyze_model(j->d), &j->route, end, retry_after_ms, reason, clock_ms());
	if (j->worker != NULL && (end == CALL_WORKED || end == CALL_BUSY))
		pool_release(j->worker);
	else if (j->worker != NULL)
		pool_evict(j->worker, reason);
	j->worker = NULL;
}

int64_t job_pool_pause_ms(const struct pool_answer *refusal)
{
	int64_t asked = (int64_t)refusal->retry_after_sec * 1000;

	return asked < POOL_PAUSE_MAX_MS ? asked : POOL_PAUSE_MAX_MS;
}

void job_fail_refused(struct job *j, const struct pool_answer *refusal)
{
	char error[JOB_ERROR_MAX];
	int64_t wait = backoff_ms(j->attempt, j->d->backoff_base_ms, j->d->backoff_max_ms, (uint32_t)random());

	snprintf(error, sizeof error, "no worker: %s: %s", refusal->error_code, refusal->reason);
	if (wait < job_pool_pause_ms(refusal))
		wait = job_pool_pause_ms(refusal);
	job_fail(j, error, wait, false, true);
}

void job_fail(struct job *j, const char *why, int64_t delay_ms, bool final, bool refund)
{
	char error[JOB_ERROR_MAX];

	if (!refund)
		metrics_add(j->d->metrics, (enum metric)((int)METRIC_JOBS_FAILED + kind_of(j)));
	/* A node's words, cut anywhere: made into text that the database takes. */
	snprintf(error, sizeof error, "%s", why);
	ident_clean(error);
	if (final)
		log_warning(
		    "job %lld (camera %s, frame %s) is dead: %s", (long long)j->id, j->camera_id, j->frame_uuid, error);
	else
		log_debug("job %lld (camera %s), attempt %u: %s", (long long)j->id, j->camera_id, j->attempt, error);
	commit_failure(j->d, &(struct commit_failure){.job_id = j->id,
				 .token = j->token,
				 .permit = j->permit,
				 .error = error,
				 .delay_ms = delay_ms,
				 .final = final,
				 .refund = refund});
	job_free(j);
}

void job_fail_backoff(struct job *j, const char *error, int64_t at_least_ms)
{
	int64_t wait = backoff_ms(j->attempt, j->d->backoff_base_ms, j->d->backoff_max_ms,
	    (uint32_t)random() * 2U + (uint32_t)(random() & 1));

	job_fail(j, error, wait > at_least_ms ? wait : at_least_ms, false, false);
}
