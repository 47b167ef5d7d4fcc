/* SPDX-License-Identifier: Apache-2.0
 * Jobs that follow an analysis: archive, notify, escalate. Claimed together in one call, each kind with its own bound
 * of jobs under way, so that none waits for another and the analysis waits for none. */
#ifndef CAM_FOLLOWUPS_H
#define CAM_FOLLOWUPS_H

#include "dispatcher/job.h"

int64_t followups_tick(struct dispatcher *d, int64_t now);
/* Gives back what is still under way. */
void followups_abort(struct dispatcher *d);
/* Nothing is held any more. */
bool followups_idle(const struct dispatcher *d);

/* The job is done: an element of followup_complete()'s array, to which the kind may add. Frees the job. */
struct json_object *followup_done(struct job *j);
/* A string of the job's facts, or fallback. */
const char *followup_fact(const struct job *j, const char *name, const char *fallback);
/* Sets the two places where the job's image may lie: the spool, and the archive if that is a directory. False if the
 * job has none. */
bool followup_picture(struct job *j, const char *archive_path);

#endif
