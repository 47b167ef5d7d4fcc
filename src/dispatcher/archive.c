/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/archive.h"

#include "common/clock.h"
#include "common/log.h"
#include "dispatcher/followups.h"

#include <stdlib.h>
#include <string.h>

static const char *const drivers[] = {[ARCHIVE_NONE] = "none", [ARCHIVE_DIR] = "dir", [ARCHIVE_RCLONE] = "rclone"};

void archive_begin(struct job *j)
{
	const char *target = followup_fact(j, "target", "");

	if (*target == '\0' || strlen(target) > ARCHIVE_PATH_MAX) {
		job_fail(j, "the image has no place in the archive", 0, true, false);
		return;
	}
	if (j->d->conf.archive_driver == ARCHIVE_RCLONE)
		archive_rclone_begin(j);
	else
		archive_dir_begin(j);
}

void archive_stored(struct job *j, const char *sha256, size_t bytes)
{
	struct dispatcher *d = j->d;
	struct json_object *path = json_object_new_string(followup_fact(j, "target", ""));
	struct json_object *item = followup_done(j);

	node_worked(&d->followups.archive);
	metrics_add(d->metrics, METRIC_ARCHIVED);
	json_object_object_add(item, "driver", json_object_new_string(drivers[d->conf.archive_driver]));
	json_object_object_add(item, "path", path);
	json_object_object_add(item, "bytes", json_object_new_int64((int64_t)bytes));
	json_object_object_add(item, "sha256", json_object_new_string(sha256));
}

void archive_failed(struct job *j, const char *error)
{
	log_warning("the archive does not take frame %s: %s", j->frame_uuid, error);
	node_failed(&j->d->followups.archive, NODE_BUSY, 0, clock_ms(), (uint32_t)random());
	job_fail_backoff(j, error, 0);
}
