/* SPDX-License-Identifier: Apache-2.0
 * The archive behind rclone's remote control. Look first, so that an attempt whose answer was lost is found done; then
 * move or upload; then look again: size and whatever checksum the remote keeps, or, where it keeps none, the bytes. */
#include "common/http.h"
#include "common/json.h"
#include "common/log.h"
#include "dispatcher/archive.h"
#include "dispatcher/followups.h"
#include "dispatcher/rclone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UPLOAD_TIMEOUT_MS = 30000 };

struct rclone_work {
	bool tried; /* what there was to do was done; now it is verified */
	bool moving;
	char sums[RCLONE_HASHES][DIGEST_HEX_MAX + 1];
};

static void look(struct job *j);

static const char *target_of(const struct job *j)
{
	return followup_fact(j, "target", "");
}

/* The answer to a call of the remote control: false, and the job has failed, unless it is 200. */
static bool worked(struct job *j, const struct http_answer *a)
{
	char error[JOB_ERROR_MAX];

	j->transfer = NULL;
	if (a->status == 200)
		return true;
	rclone_fault(a, error, sizeof error);
	archive_failed(j, error);
	return false;
}

static void started(struct job *j, struct http_transfer *transfer)
{
	j->transfer = transfer;
	if (transfer == NULL)
		job_fail_backoff(j, "out of memory", 0);
}

static void acted(void *arg, const struct http_answer *a)
{
	struct job *j = arg;
	struct rclone_work *w = j->work;

	/* What was to be moved is not there: perhaps an attempt before moved it. The look decides. */
	if (w->moving && rclone_is_absent(a)) {
		j->transfer = NULL;
	} else if (!worked(j, a)) {
		return;
	}
	w->tried = true;
	look(j);
}

static void upload(struct job *j)
{
	char dir[ARCHIVE_PATH_MAX + 1];
	const char *target = target_of(j), *name = strrchr(target, '/') + 1;

	snprintf(dir, sizeof dir, "%.*s", (int)(name - target - 1), target);
	started(j, rclone_upload(j->d, dir, name, j->picture.data, j->picture.len, UPLOAD_TIMEOUT_MS, acted, j));
}

static void deleted(void *arg, const struct http_answer *a)
{
	struct job *j = arg;

	if (rclone_is_absent(a) || worked(j, a)) {
		j->transfer = NULL;
		upload(j);
	}
}

static void read_back(void *arg, const struct http_answer *a)
{
	struct job *j = arg;
	struct rclone_work *w = j->work;
	char sum[SHA256_HEX_LEN + 1];

	if (!worked(j, a))
		return;
	if (crypto_sha256_hex(a->body, a->len, sum) == 0 && strcmp(sum, w->sums[RCLONE_SHA256]) == 0)
		archive_stored(j, sum, a->len);
	else
		archive_failed(j, "what the archive gives back is not what was sent");
}

/* Nothing there, or not the right thing. */
static void act(struct job *j, bool something_there)
{
	struct rclone_work *w = j->work;
	const char *stored = followup_fact(j, "stored", NULL);

	w->moving = stored != NULL && strcmp(stored, target_of(j)) != 0 && !w->moving;
	if (w->moving)
		started(j, rclone_move(j->d, stored, target_of(j), acted, j));
	else if (j->picture.data == NULL)
		job_fail(j, "the image is gone from the spool", 0, true, false);
	else if (something_there)
		started(j, rclone_delete(j->d, target_of(j), deleted, j));
	else
		upload(j);
}

static void looked(void *arg, const struct http_answer *a)
{
	struct job *j = arg;
	struct rclone_work *w = j->work;
	size_t bytes = j->picture.len;
	enum rclone_match match;

	if (!worked(j, a))
		return;
	match = rclone_compare(a, j->picture.data != NULL ? &bytes : NULL, w->sums);
	if (match == RCLONE_SAME || (match == RCLONE_MAYBE && j->picture.data == NULL))
		archive_stored(j, w->sums[RCLONE_SHA256], bytes > 0 ? bytes : rclone_size(a));
	else if (match == RCLONE_MAYBE)
		started(j, rclone_get(j->d, target_of(j), FRAME_BYTES_MAX, read_back, j));
	else if (!w->tried || w->moving)
		act(j, match == RCLONE_DIFFERS);
	else
		archive_failed(j, "the image is not in the archive, although rclone took it");
}

static void look(struct job *j)
{
	started(j, rclone_stat(j->d, target_of(j), looked, j));
}

/* The image may be gone from the spool if it is only to be moved. */
static void image_read(struct task *task)
{
	struct job *j = JOB_OF_PICTURE(task);
	struct rclone_work *w = j->work;

	if (j->picture.fault != 0 && (j->picture.fault != ENOENT || followup_fact(j, "stored", NULL) == NULL)) {
		job_fail(j, "the image cannot be read from the spool", 0, j->picture.fault == ENOENT, false);
		return;
	}
	if (j->picture.data == NULL)
		snprintf(w->sums[RCLONE_SHA256], sizeof w->sums[0], "%s", followup_fact(j, "sha256", ""));
	for (size_t i = 0; j->picture.data != NULL && i < RCLONE_HASHES; i++)
		(void)crypto_digest_hex(rclone_hashes[i], j->picture.data, j->picture.len, w->sums[i]);
	look(j);
}

void archive_rclone_begin(struct job *j)
{
	j->work = calloc(1, sizeof(struct rclone_work));
	if (j->work == NULL || !followup_picture(j, NULL) || strchr(target_of(j), '/') == NULL) {
		job_fail_backoff(j, "the job has no frame, or memory ran out", 0);
		return;
	}
	picture_read(j->d->tasks, &j->picture, image_read);
}
