/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/janitor.h"

#include "common/archive_file.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/log.h"
#include "common/spool.h"
#include "dispatcher/rclone.h"
#include "dispatcher/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	INTERVAL_MS = 10000,
	ORPHANS_MS = 3600 * 1000,
	BATCH = 100,
	ORPHAN_AGE_SEC = 600, /* an image lies in the spool a moment before its row is there */
	NUMBER_MAX = 24,
	LIST_MAX = (UUID_TEXT_LEN + 1) * BATCH + 2,
};
#define BATCH_TEXT "100"
/* One call each, one after another. */
enum { RCLONE_BATCH = 10 };
#define RCLONE_BATCH_TEXT "10"

/* A file of the archive that is to go. */
struct doomed {
	char frame_id[NUMBER_MAX];
	char path[IDENT_PATH_MAX + 1];
	bool gone;
};

struct janitor {
	struct dispatcher *d;
	struct {
		bool busy;
		int64_t due;
	} spool, archive, orphans;
	struct {
		struct task task;
		bool rclone;               /* whose turn it is: rclone's, or the directory's */
		char root[SPOOL_PATH_MAX]; /* a copy: the configuration may be read again meanwhile */
		struct doomed files[BATCH];
		size_t n, at;
	} doomed;
	struct {
		struct task task;
		char path[SPOOL_PATH_MAX];
		DIR *dir;
		struct buf found; /* a list of uuids, as the database takes it */
		size_t n;
	} scan;
};

struct janitor *janitor_new(void)
{
	struct janitor *n = calloc(1, sizeof *n);

	if (n != NULL)
		buf_init(&n->scan.found, LIST_MAX);
	return n;
}

void janitor_free(struct janitor *n)
{
	if (n == NULL)
		return;
	if (n->scan.dir != NULL)
		closedir(n->scan.dir);
	buf_free(&n->scan.found);
	free(n);
}

static bool has_rows(PGresult *result, const char *what, const char *error)
{
	if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK)
		return PQntuples(result) > 0;
	if (result != NULL)
		log_error("no %s: %s", what, error);
	return false;
}

/* --- images in the spool whose time is over */

/* Removes the files of these frames. One that stays is found by look_for_orphans(). */
static void remove_spooled(struct dispatcher *d, PGresult *frames)
{
	struct err e;

	for (int i = 0; i < PQntuples(frames); i++)
		if (spool_remove(d->conf.spool_dir, PQgetvalue(frames, i, 0), &e) < 0)
			log_warning("an image stays: %s", e.msg);
}

static void spool_expired(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->janitor->spool.busy = false;
	if (!has_rows(result, "expired images", error))
		return;
	remove_spooled(d, result);
	d->janitor->spool.due = 0; /* more may be waiting */
}

static void ask_spool(struct dispatcher *d)
{
	d->janitor->spool.busy = dbq_submit(d->db, "SELECT * FROM camserver.spool_expire($1)", 1,
				     (const char *[]){BATCH_TEXT}, spool_expired, d) == 0;
}

/* --- images in the archive whose time is over */

/* What is kept by another driver than the one that is configured now ends on its day, too. */
static void next_driver(struct dispatcher *d)
{
	d->janitor->doomed.rclone = !d->janitor->doomed.rclone && *d->conf.rclone_remote != '\0';
}

static void archive_noted(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->janitor->archive.busy = false;
	if (!has_rows(result, "note of what left the archive", error))
		d->janitor->archive.due = clock_ms() + INTERVAL_MS;
}

static void note_archive(struct dispatcher *d)
{
	struct janitor *n = d->janitor;
	struct buf gone;

	n->archive.busy = false;
	buf_init(&gone, NUMBER_MAX * BATCH + 2);
	for (size_t i = 0; i < n->doomed.n; i++)
		if (n->doomed.files[i].gone)
			buf_printf(&gone, "%s%s", gone.len > 0 ? "," : "{", n->doomed.files[i].frame_id);
	if (gone.len > 0 && buf_append(&gone, "}", 1) == 0)
		n->archive.busy = dbq_submit(d->db, "SELECT camserver.archive_removed($1::bigint[])", 1,
				      (const char *[]){gone.data}, archive_noted, d) == 0;
	if (gone.len > 0)
		n->archive.due = 0; /* more may be waiting */
	else
		next_driver(d);
	buf_free(&gone);
}

static void remove_files(struct task *task)
{
	struct janitor *n = (struct janitor *)((char *)task - offsetof(struct janitor, doomed.task));
	size_t stay = 0;
	struct err e;

	for (size_t i = 0; i < n->doomed.n; i++) {
		n->doomed.files[i].gone = archive_file_remove(n->doomed.root, n->doomed.files[i].path, &e) == 0;
		stay += !n->doomed.files[i].gone;
	}
	if (stay > 0)
		log_warning("%zu images stay in the archive, the last because of %s", stay, e.msg);
}

static void files_removed(struct task *task)
{
	struct janitor *n = (struct janitor *)((char *)task - offsetof(struct janitor, doomed.task));

	note_archive(n->d);
}

static void remove_next(struct dispatcher *d);

static void rclone_removed(void *arg, const struct http_answer *a)
{
	struct dispatcher *d = arg;
	struct janitor *n = d->janitor;
	char error[400];

	n->doomed.files[n->doomed.at].gone = a->status == 200 || rclone_is_absent(a);
	if (!n->doomed.files[n->doomed.at].gone) {
		rclone_fault(a, error, sizeof error);
		log_warning("an image stays in the archive: %s", error);
		note_archive(d); /* no use asking for the others now */
		return;
	}
	n->doomed.at++;
	remove_next(d);
}

static void remove_next(struct dispatcher *d)
{
	struct janitor *n = d->janitor;

	if (n->doomed.at == n->doomed.n ||
	    rclone_delete(d, n->doomed.files[n->doomed.at].path, rclone_removed, d) == NULL)
		note_archive(d);
}

static void archive_expired(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	struct janitor *n = d->janitor;

	n->archive.busy = false;
	if (!has_rows(result, "expired images of the archive", error)) {
		next_driver(d);
		return;
	}
	n->doomed.n = (size_t)PQntuples(result) < BATCH ? (size_t)PQntuples(result) : BATCH;
	n->doomed.at = 0;
	for (size_t i = 0; i < n->doomed.n; i++) {
		struct doomed *file = &n->doomed.files[i];

		snprintf(file->frame_id, sizeof file->frame_id, "%s", PQgetvalue(result, (int)i, 0));
		snprintf(file->path, sizeof file->path, "%s", PQgetvalue(result, (int)i, 1));
		file->gone = false;
	}
	n->archive.busy = true;
	if (n->doomed.rclone) {
		remove_next(d);
	} else {
		snprintf(n->doomed.root, sizeof n->doomed.root, "%s", d->conf.archive_dir);
		n->doomed.task = (struct task){.run = remove_files, .done = files_removed};
		tasks_submit(d->tasks, &n->doomed.task);
	}
}

static void ask_archive(struct dispatcher *d)
{
	bool rclone = d->janitor->doomed.rclone;

	d->janitor->archive.busy =
	    dbq_submit(d->db, "SELECT * FROM camserver.archive_expire($1, $2)", 2,
		(const char *[]){rclone ? "rclone" : "dir", rclone ? RCLONE_BATCH_TEXT : BATCH_TEXT}, archive_expired,
		d) == 0;
}

/* --- files in the spool that no frame names */

/* Looks at one entry: an image of some age is noted to be asked for, a temporary file that somebody left is removed. */
static void look_at(struct janitor *n, const char *name)
{
	size_t len = strlen(name);
	char uuid[UUID_TEXT_LEN + 1];
	struct stat st;

	if (fstatat(dirfd(n->scan.dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_mtime > time(NULL) - ORPHAN_AGE_SEC)
		return;
	if (len > 4 && strcmp(name + len - 4, ".tmp") == 0) {
		unlinkat(dirfd(n->scan.dir), name, 0);
		return;
	}
	snprintf(uuid, sizeof uuid, "%s", name);
	if (len != UUID_TEXT_LEN + 4 || strcmp(name + UUID_TEXT_LEN, ".jpg") != 0 || !ident_is_uuid(uuid))
		return;
	buf_printf(&n->scan.found, "%s%s", n->scan.n > 0 ? "," : "{", uuid);
	n->scan.n++;
}

/* The next batch of the directory. */
static void scan_spool(struct task *task)
{
	struct janitor *n = (struct janitor *)((char *)task - offsetof(struct janitor, scan.task));
	struct dirent *entry = NULL;

	if (n->scan.dir == NULL)
		n->scan.dir = opendir(n->scan.path);
	buf_reset(&n->scan.found);
	n->scan.n = 0;
	while (n->scan.dir != NULL && n->scan.n < BATCH && (entry = readdir(n->scan.dir)) != NULL)
		look_at(n, entry->d_name);
	if (n->scan.dir != NULL && entry == NULL) {
		closedir(n->scan.dir);
		n->scan.dir = NULL;
	}
}

static void orphans_known(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	struct janitor *n = d->janitor;

	n->orphans.busy = false;
	if (n->scan.dir != NULL)
		n->orphans.due = 0; /* the rest of the directory */
	if (!has_rows(result, "list of the spool's orphans", error))
		return;
	log_info("%d files of the spool are nobody's image any more and are removed", PQntuples(result));
	remove_spooled(d, result);
}

static void scanned(struct task *task)
{
	struct janitor *n = (struct janitor *)((char *)task - offsetof(struct janitor, scan.task));

	n->orphans.busy = false;
	if (n->scan.n > 0 && buf_append(&n->scan.found, "}", 1) == 0)
		n->orphans.busy = dbq_submit(n->d->db, "SELECT * FROM camserver.spool_unknown($1::uuid[])", 1,
				      (const char *[]){n->scan.found.data}, orphans_known, n->d) == 0;
}

static void look_for_orphans(struct dispatcher *d)
{
	struct janitor *n = d->janitor;

	snprintf(n->scan.path, sizeof n->scan.path, "%s/infer", d->conf.spool_dir);
	n->orphans.busy = true;
	n->scan.task = (struct task){.run = scan_spool, .done = scanned};
	tasks_submit(d->tasks, &n->scan.task);
}

int64_t janitor_tick(struct dispatcher *d, int64_t now)
{
	struct janitor *n = d->janitor;
	int64_t next = now + INTERVAL_MS;

	n->d = d;
	if (d->stopping || !dbq_connected(d->db) || !d->membership.registered)
		return now + INTERVAL_MS / 10;
	if (!n->spool.busy && now >= n->spool.due) {
		n->spool.due = now + INTERVAL_MS;
		ask_spool(d);
	}
	if (!n->archive.busy && now >= n->archive.due) {
		n->archive.due = now + INTERVAL_MS;
		ask_archive(d);
	}
	if (!n->orphans.busy && now >= n->orphans.due) {
		n->orphans.due = now + ORPHANS_MS;
		look_for_orphans(d);
	}
	return next;
}
