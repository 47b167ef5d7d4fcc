/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/job.h"

#include "common/clock.h"
#include "common/log.h"
#include "dispatcher/commit.h"
#include "policy/backoff.h"

#include <stdio.h>
#include <stdlib.h>

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
	free(j->picture.data);
	json_object_put(j->facts);
	free(j->work);
	free(j);
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
