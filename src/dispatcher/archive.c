/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/archive.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "dispatcher/followups.h"

#include <stdlib.h>
#include <string.h>

static const char driver_dir[] = "dir", driver_rclone[] = "rclone";

/* What is archived already stays with the driver that has it, whatever is configured by now. */
static const char *driver_of(const struct job *j)
{
	const char *now = j->d->conf.archive_driver == ARCHIVE_RCLONE ? driver_rclone : driver_dir;

	if (followup_fact(j, "stored", NULL) != NULL)
		now = followup_fact(j, "driver", now);
	return strcmp(now, driver_rclone) == 0 ? driver_rclone : driver_dir;
}

void archive_begin(struct job *j)
{
	const char *target = followup_fact(j, "target", "");
	bool lingers = false;

	if (*target == '\0' || strlen(target) > ARCHIVE_PATH_MAX) {
		job_fail(j, "the image has no place in the archive", 0, true, false);
		return;
	}
	/* Its file may be deleted at any moment: what is put in its place would go with it. */
	(void)json_get_bool(j->facts, "lingers", &lingers, NULL);
	if (lingers) {
		job_fail_backoff(j, "the archive is just losing the image", 0);
		return;
	}
	/* The configuration may be read again before the job is done: what it was begun with counts. */
	json_object_object_add(j->facts, "driver", json_object_new_string(driver_of(j)));
	if (driver_of(j) == driver_rclone)
		archive_rclone_begin(j);
	else
		archive_dir_begin(j);
}

void archive_stored(struct job *j, const char *sha256, size_t bytes)
{
	struct dispatcher *d = j->d;
	/* The checksum and the path may be the job's, which is gone afterwards. */
	struct json_object *path = json_object_new_string(followup_fact(j, "target", "")),
			   *driver = json_object_new_string(followup_fact(j, "driver", "")),
			   *sum = json_object_new_string(sha256), *item = followup_done(j);

	node_worked(&d->followups.archive);
	metrics_add(d->metrics, METRIC_ARCHIVED);
	json_object_object_add(item, "driver", driver);
	json_object_object_add(item, "path", path);
	json_object_object_add(item, "bytes", json_object_new_int64((int64_t)bytes));
	json_object_object_add(item, "sha256", sum);
}

void archive_failed(struct job *j, const char *error)
{
	log_warning("the archive does not take frame %s: %s", j->frame_uuid, error);
	node_failed(&j->d->followups.archive, NODE_BUSY, 0, clock_ms(), (uint32_t)random());
	job_fail_backoff(j, error, 0);
}
