/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/janitor.h"

#include "common/buf.h"
#include "common/log.h"
#include "common/spool.h"

#include <string.h>

enum { INTERVAL_MS = 10000, BATCH = 100 };
#define BATCH_TEXT "100"

static void noted(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->janitor.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("removed images are not noted: %s", error);
}

/* First the files, then the note: whoever dies in between leaves them to the next one. */
static void expired(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;
	struct buf gone;
	struct err e;

	d->janitor.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		if (result != NULL)
			log_error("no expired images: %s", error);
		return;
	}
	if (PQntuples(result) == 0)
		return;
	buf_init(&gone, (UUID_TEXT_LEN + 1) * BATCH + 2);
	for (int i = 0; i < PQntuples(result); i++) {
		const char *uuid = PQgetvalue(result, i, 0);

		if (spool_remove(d->conf.spool_dir, uuid, &e) < 0)
			log_warning("an image stays: %s", e.msg);
		else
			buf_printf(&gone, "%s%s", gone.len > 0 ? "," : "{", uuid);
	}
	if (gone.len > 0 && buf_append(&gone, "}", 1) == 0)
		d->janitor.asking = dbq_submit(d->db, "SELECT camserver.spool_removed($1::uuid[])", 1,
					(const char *[]){gone.data}, noted, d) == 0;
	if (PQntuples(result) == BATCH)
		d->janitor.due = 0; /* more is waiting */
	buf_free(&gone);
}

int64_t janitor_tick(struct dispatcher *d, int64_t now)
{
	if (now < d->janitor.due)
		return d->janitor.due;
	if (d->janitor.asking || !dbq_connected(d->db))
		return now + INTERVAL_MS;
	d->janitor.due = now + INTERVAL_MS;
	d->janitor.asking = dbq_submit(d->db, "SELECT * FROM camserver.spool_expired($1)", 1,
				(const char *[]){BATCH_TEXT}, expired, d) == 0;
	return d->janitor.due;
}
