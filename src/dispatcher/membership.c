/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/membership.h"

#include "common/log.h"
#include "config.h"

#include <stdio.h>
#include <unistd.h>

enum { HEARTBEAT_MS = 10000, RETRY_MS = 1000 };

static void registered(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->membership.asking = false;
	d->membership.registered = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
	if (d->membership.registered)
		log_info("registered as %s on host %s", d->id, d->conf.host_name);
	else
		log_warning("cannot register: %s", error);
}

static void beaten(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->membership.asking = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		log_warning("no heartbeat: %s", error);
		d->membership.due = 0;
	} else if (PQgetvalue(result, 0, 0)[0] != 't') {
		log_warning("the database does not know this dispatcher any more; registering again");
		d->membership.registered = false;
		d->membership.due = 0;
	}
}

static void register_now(struct dispatcher *d)
{
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	d->membership.asking = dbq_submit(d->db, "SELECT camserver.dispatcher_register($1, $2, $3, $4, $5)", 5,
				   (const char *[]){d->id, d->conf.host_name, pid, PACKAGE_VERSION, d->conf.stream_server},
				   registered, d) == 0;
}

int64_t membership_tick(struct dispatcher *d, int64_t now)
{
	if (d->membership.asking || d->membership.stopping || !dbq_connected(d->db))
		return now + RETRY_MS;
	if (now < d->membership.due)
		return d->membership.due;
	if (!d->membership.registered) {
		register_now(d);
		d->membership.due = now + RETRY_MS;
	} else {
		d->membership.asking = dbq_submit(d->db, "SELECT camserver.dispatcher_heartbeat($1)", 1,
					   (const char *[]){d->id}, beaten, d) == 0;
		d->membership.due = now + HEARTBEAT_MS;
	}
	return d->membership.due;
}

static void signed_off(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->membership.stopped = true;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		log_warning("could not sign off: %s", error);
}

void membership_stop(struct dispatcher *d)
{
	d->membership.stopping = true;
	if (!d->membership.registered || !dbq_connected(d->db) ||
	    dbq_submit(d->db, "SELECT camserver.dispatcher_stop($1)", 1, (const char *[]){d->id}, signed_off, d) < 0)
		d->membership.stopped = true;
}
