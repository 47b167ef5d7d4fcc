/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/feed.h"

#include "common/json.h"
#include "common/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Frames must belong to the account that owns the spool, or its programs could not read what root hands in; and root
 * should not follow names in a directory that others write to. Only while the spool is touched: a database that
 * asks the socket who is calling expects root. */
static int become_owner(const char *spool_dir, struct err *e)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (stat(spool_dir, &st) < 0)
		return err_set(e, "SPOOL_DIR %s: %s", spool_dir, strerror(errno));
	if (setegid(st.st_gid) < 0 || seteuid(st.st_uid) < 0)
		return err_set(e, "cannot act as the owner of %s: %s", spool_dir, strerror(errno));
	return 0;
}

static void become_oneself(void)
{
	/* Back to the real ids, which were the effective ones; this cannot be refused. */
	if (seteuid(getuid()) < 0 || setegid(getgid()) < 0)
		abort();
}

int feed_prepare(struct ctl *ctl, struct err *e)
{
	int result = become_owner(ctl->conf->spool_dir, e);

	if (result == 0)
		result = spool_prepare(ctl->conf->spool_dir, e);
	become_oneself();
	return result;
}

static int spool(struct ctl *ctl, const char *uuid, const struct frame *frame, struct err *e)
{
	bool existed;
	int result = become_owner(ctl->conf->spool_dir, e);

	if (result == 0)
		result = spool_write(ctl->conf->spool_dir, uuid, frame->jpeg, frame->len, &existed, e);
	become_oneself();
	return result;
}

/* The uuid is new, so the file is ours. What cannot be removed is the janitor's. */
static void unspool(struct ctl *ctl, const char *uuid)
{
	if (become_owner(ctl->conf->spool_dir, NULL) == 0)
		(void)spool_remove(ctl->conf->spool_dir, uuid, NULL);
	become_oneself();
}

static enum feed_status read_answer(const char *text, const struct frame *frame, int *ret_retry_sec, struct err *e)
{
	struct json_object *json = json_tokener_parse(text);
	const char *outcome = "";
	enum feed_status status = FEED_REFUSED;
	int64_t retry_sec = 1, waiting = 0;

	(void)json_get_string(json, "outcome", &outcome, NULL);
	(void)json_get_int64(json, "retry_after", &retry_sec, NULL);
	(void)json_get_int64(json, "camera_queue", &waiting, NULL);
	if (strcmp(outcome, "ACCEPTED") == 0) {
		status = FEED_ACCEPTED;
	} else if (strcmp(outcome, "QUEUE_FULL") == 0) {
		err_set(e, "camera %s has %" PRId64 " jobs waiting, as many as camera_queue_max allows",
		    frame->camera_id, waiting);
		*ret_retry_sec = retry_sec > 0 && retry_sec < 3600 ? (int)retry_sec : 1;
		status = FEED_QUEUE_FULL;
	} else if (strcmp(outcome, "UNKNOWN_CAMERA") == 0) {
		err_set(e, "there is no enabled camera %s; `camctl camera list` shows them", frame->camera_id);
		status = FEED_NO_CAMERA;
	} else if (strcmp(outcome, "BAD_CAPTURED_AT") == 0) {
		err_set(e, "it would be captured in the future");
	} else {
		err_set(e, "the database refused it: %s", *outcome != '\0' ? outcome : text);
	}
	json_object_put(json);
	return status;
}

static enum feed_status ingest(
    struct ctl *ctl, const char *uuid, const struct frame *frame, int *ret_retry_sec, struct err *e)
{
	static const char sql[] = "SELECT camserver.frame_ingest('camctl', $1::uuid, $2,"
				  " coalesce($3::timestamptz, clock_timestamp()) + make_interval(secs => $4::float8),"
				  " $5::integer, $6::integer)";
	char later[32], priority[16], bytes[24];
	enum feed_status result;
	enum db_status status;
	PGresult *row = NULL;

	snprintf(later, sizeof later, "%.3f", frame->later_sec);
	snprintf(priority, sizeof priority, "%d", frame->priority);
	snprintf(bytes, sizeof bytes, "%zu", frame->len);
	status = db_query(ctl->db, sql, 6,
	    (const char *[]){uuid, frame->camera_id, frame->captured_at, later, priority, bytes}, &row, e);
	if (status != DB_OK)
		return status == DB_DOWN ? FEED_DB_DOWN : FEED_FAILED;
	result = read_answer(PQgetvalue(row, 0, 0), frame, ret_retry_sec, e);
	PQclear(row);
	return result;
}

enum feed_status feed_frame(struct ctl *ctl, const struct frame *frame, int *ret_retry_sec, struct err *e)
{
	char uuid[UUID_TEXT_LEN + 1];
	enum feed_status status;

	/* Looked at first, so that a database that is away does not fill the spool. */
	if (db_connect(ctl->db, e) != DB_OK)
		return FEED_DB_DOWN;
	ident_new_uuid(uuid);
	if (spool(ctl, uuid, frame, e) < 0)
		return FEED_FAILED;
	status = ingest(ctl, uuid, frame, ret_retry_sec, e);
	if (status == FEED_DB_DOWN) /* asking again is safe: the same frame is taken only once */
		status = ingest(ctl, uuid, frame, ret_retry_sec, e);
	if (status != FEED_ACCEPTED && status != FEED_DB_DOWN)
		unspool(ctl, uuid);
	return status;
}
