/* SPDX-License-Identifier: Apache-2.0
 * The archive in a directory: written, fsynced, named, and its checksum read back. */
#include "common/archive_file.h"
#include "common/file.h"
#include "dispatcher/archive.h"
#include "dispatcher/followups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct put {
	struct task task;
	struct job *job;
	char root[SPOOL_PATH_MAX];   /* a copy: the configuration may be read again meanwhile */
	const char *target, *stored; /* stored: where it lies now, or NULL */
	const char *sha256;          /* of what lies there */
	const char *spool;
	/* filled in: */
	char sum[SHA256_HEX_LEN + 1];
	size_t bytes;
	bool missing; /* neither the spool nor the archive has it */
	struct err fault;
	bool ok;
};

/* What lies elsewhere in the archive comes first: a copy beside it would be a second one. -1 with *p->fault. */
static int fetch(struct put *p)
{
	return p->stored != NULL && strcmp(p->stored, p->target) != 0
		   ? archive_file_move(p->root, p->stored, p->target, &p->fault)
		   : 0;
}

/* What an earlier attempt left at the target, or what was moved there. */
static bool there_already(struct put *p)
{
	return archive_file_sum(p->root, p->target, p->sum, &p->bytes) == 0 && p->sha256 != NULL &&
	       strcmp(p->sum, p->sha256) == 0;
}

static void run(struct task *task)
{
	struct put *p = (struct put *)task;
	char wanted[SHA256_HEX_LEN + 1], *data = NULL;
	size_t len;
	int fault;

	if (fetch(p) < 0)
		return;
	if (there_already(p)) {
		p->ok = true;
		return;
	}
	fault = file_read(p->spool, O_NOFOLLOW, FRAME_BYTES_MAX, &data, &len);
	if (fault != 0) {
		p->missing = fault == ENOENT;
		err_set(&p->fault, "%s: %s", p->spool, strerror(fault));
		return;
	}
	if (crypto_sha256_hex(data, len, wanted) < 0)
		err_set(&p->fault, "no checksum");
	else if (archive_file_sum(p->root, p->target, p->sum, &p->bytes) == 0 && strcmp(p->sum, wanted) == 0)
		p->ok = true;
	else if (archive_file_put(p->root, p->target, data, len, &p->fault) == 0) {
		if (archive_file_sum(p->root, p->target, p->sum, &p->bytes) < 0 || strcmp(p->sum, wanted) != 0)
			err_set(&p->fault, "%s: the checksum differs from what was written", p->target);
		else
			p->ok = true;
	}
	free(data);
}

static void done(struct task *task)
{
	struct put *p = (struct put *)task;
	struct job *j = p->job;
	char sum[SHA256_HEX_LEN + 1], error[sizeof p->fault.msg];

	memcpy(sum, p->sum, sizeof sum);
	memcpy(error, p->fault.msg, sizeof error);
	if (p->ok)
		archive_stored(j, sum, p->bytes);
	else if (p->missing)
		job_fail(j, "the image is gone from the spool", 0, true, false);
	else
		archive_failed(j, error);
}

void archive_dir_begin(struct job *j)
{
	struct put *p = calloc(1, sizeof *p);

	if (p == NULL || !followup_picture(j, NULL)) {
		free(p);
		job_fail_backoff(j, "the job has no frame, or memory ran out", 0);
		return;
	}
	j->work = p;
	*p = (struct put){.task = {.run = run, .done = done},
	    .job = j,
	    .target = followup_fact(j, "target", ""),
	    .stored = followup_fact(j, "stored", NULL),
	    .sha256 = followup_fact(j, "sha256", NULL),
	    .spool = j->path};
	snprintf(p->root, sizeof p->root, "%s", j->d->conf.archive_dir);
	tasks_submit(j->d->tasks, &p->task);
}
