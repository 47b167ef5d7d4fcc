/* SPDX-License-Identifier: Apache-2.0
 * camctl enqueue: JPEG files become frames of a camera. */
#include "common/file.h"
#include "common/jpeg.h"
#include "common/spool.h"
#include "ctl/ctl.h"
#include "ctl/feed.h"
#include "ctl/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIME_TEXT_MAX = 64, PRIORITY_MAX = 100 };
#define INTERVAL_SEC_MAX 86400.0

struct enqueue {
	struct ctl *ctl;
	const char *camera;
	const char *first_at; /* NULL: not given */
	double interval_sec;  /* negative: not given */
	int priority;
	bool wait;
	struct progress progress;
	int accepted, failed;
};

static int take_options(struct ctl *ctl, struct enqueue *ret)
{
	double priority;

	ret->camera = ctl_option(ctl, "--camera", NULL);
	ret->first_at = ctl_option(ctl, "--captured-at", NULL);
	ret->wait = !ctl_flag(ctl, "--no-wait");
	if (ctl_number(ctl, "--interval", -1, 0, INTERVAL_SEC_MAX, &ret->interval_sec) < 0 ||
	    ctl_number(ctl, "--priority", 0, -PRIORITY_MAX, PRIORITY_MAX, &priority) < 0 ||
	    ctl_left(ctl, ctl->argc) < 0)
		return -1;
	ret->priority = (int)priority;
	if (ret->camera != NULL && ctl->argc > 0)
		return 0;
	fprintf(stderr, "camctl: %s\n",
	    ret->camera == NULL ? "--camera ID says whose frames these are" : "no file is named");
	return -1;
}

/* Works out the time of the first frame once, so that all others are told from it, and checks what was given:
 * PostgreSQL alone would take "yesterday" and times without a zone. Without --captured-at the last of spaced frames
 * is captured now, since frames from the future are refused. */
static int find_first_at(struct enqueue *q, char ret[TIME_TEXT_MAX])
{
	static const char sql[] = "SELECT camserver.rfc3339(coalesce($1::text::timestamptz, clock_timestamp() - "
				  "make_interval(secs => $2::float8)))"
				  " WHERE $1 IS NULL OR $1 ~* '^\\d{4}-\\d\\d-\\d\\d[T "
				  "]\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:?\\d\\d)$'";
	char before[32];
	PGresult *row = NULL;
	int found;

	snprintf(before, sizeof before, "%.3f", q->interval_sec * (q->ctl->argc - 1));
	if (ctl_query(q->ctl, sql, 2, (const char *[]){q->first_at, before}, &row) < 0)
		return -1;
	found = PQntuples(row);
	if (found > 0)
		snprintf(ret, TIME_TEXT_MAX, "%s", PQgetvalue(row, 0, 0));
	PQclear(row);
	if (found == 0)
		fprintf(stderr, "camctl: --captured-at must be a time such as 2026-01-31T23:59:59Z, not \"%s\"\n",
		    q->first_at);
	return found > 0 ? 0 : -1;
}

static void complain(struct enqueue *q, const char *file, const char *why)
{
	progress_clear(&q->progress);
	fprintf(stderr, "camctl: %s%s%s\n", file, *file != '\0' ? ": " : "", why);
}

/* Tries until the queue has room. */
static enum feed_status feed(struct enqueue *q, const struct frame *frame, struct err *e)
{
	enum feed_status status;
	int retry_sec = 1;
	bool told = false;

	while ((status = feed_frame(q->ctl, frame, &retry_sec, e)) == FEED_QUEUE_FULL && q->wait) {
		if (!told) {
			progress_clear(&q->progress);
			fprintf(stderr, "camctl: %s; trying again every %d s\n", e->msg, retry_sec);
		}
		told = true;
		sleep((unsigned)retry_sec);
	}
	return status;
}

/* False when going on is useless. */
static bool enqueue_file(struct enqueue *q, const char *path, const char *first_at, double later_sec)
{
	struct frame frame = {q->camera, first_at, later_sec, q->priority, NULL, 0};
	enum feed_status status = FEED_REFUSED;
	struct err e;
	char *data = file_read_named(path, FRAME_BYTES_MAX, &frame.len, &e);

	if (data == NULL) {
		complain(q, "", e.msg); /* names the file */
	} else if (jpeg_check(data, frame.len, NULL, &e) < 0) {
		complain(q, path, e.msg);
	} else {
		frame.jpeg = data;
		status = feed(q, &frame, &e);
		if (status != FEED_ACCEPTED)
			complain(q, path, e.msg);
	}
	free(data);
	*(status == FEED_ACCEPTED ? &q->accepted : &q->failed) += 1;
	return status != FEED_NO_CAMERA && status != FEED_DB_DOWN && status != FEED_FAILED;
}

static int enqueue_all(struct enqueue *q, const char *first_at)
{
	struct ctl *ctl = q->ctl;
	int next = 0;

	progress_begin(&q->progress, ctl->argc);
	for (bool useful = true; useful && next < ctl->argc; next++) {
		useful = enqueue_file(q, ctl->argv[next], first_at, q->interval_sec * next);
		progress_step(&q->progress);
	}
	progress_clear(&q->progress);
	printf("%d of %d frames enqueued in %.1f s", q->accepted, ctl->argc, progress_sec(&q->progress));
	if (q->failed > 0)
		printf(", %d failed", q->failed);
	if (next < ctl->argc)
		printf(", %d not tried", ctl->argc - next);
	putchar('\n');
	return q->accepted == ctl->argc ? EXIT_SUCCESS : EXIT_FAILURE;
}

int ctl_enqueue(struct ctl *ctl)
{
	struct enqueue q = {.ctl = ctl};
	char first_at[TIME_TEXT_MAX];
	bool spaced;
	struct err e;

	if (take_options(ctl, &q) < 0)
		return EXIT_FAILURE;
	spaced = q.first_at != NULL || q.interval_sec >= 0;
	if (q.interval_sec < 0) /* a camera takes no two pictures at one moment */
		q.interval_sec = spaced ? 1 : 0;
	if (spaced && find_first_at(&q, first_at) < 0)
		return EXIT_FAILURE;
	if (feed_prepare(ctl, &e) < 0) {
		fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	return enqueue_all(&q, spaced ? first_at : NULL);
}
