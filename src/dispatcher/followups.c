/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/followups.h"

#include "common/clock.h"
#include "common/http.h"
#include "common/json.h"
#include "common/log.h"
#include "dispatcher/archive.h"
#include "dispatcher/commit.h"
#include "dispatcher/escalate.h"
#include "dispatcher/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 1000, KIND_COLUMN = 7, FACTS_COLUMN = 8, PERMIT_COLUMN = 9 };

static const struct {
	const char *kind;
	void (*begin)(struct job *j);
} kinds[FOLLOWUPS] = {
    [FOLLOWUP_ARCHIVE] = {"archive", archive_begin},
    [FOLLOWUP_NOTIFY] = {"notify", notify_begin},
    [FOLLOWUP_ESCALATE] = {"escalate", escalate_begin},
};

bool followups_idle(const struct dispatcher *d)
{
	for (size_t i = 0; i < FOLLOWUPS; i++)
		if (d->followups.lanes[i].held > 0)
			return false;
	return !d->followups.claiming;
}

struct json_object *followup_done(struct job *j)
{
	struct json_object *item = json_object_new_object();

	json_object_object_add(item, "job_id", json_object_new_int64(j->id));
	json_object_object_add(item, "token", json_object_new_int64(j->token));
	if (j->permit[0] != '\0')
		json_object_object_add(item, "permit", json_object_new_string(j->permit));
	commit_followup(j->d, item);
	job_free(j);
	return item;
}

const char *followup_fact(const struct job *j, const char *name, const char *fallback)
{
	const char *text = fallback;

	(void)json_get_string(j->facts, name, &text, NULL);
	return text;
}

bool followup_picture(struct job *j, const char *archive_path)
{
	const struct conf *conf = &j->d->conf;

	if (spool_path(conf->spool_dir, j->frame_uuid, j->path, SPOOL_PATH_MAX) < 0)
		return false;
	j->picture = (struct picture){.path = j->path, .max = FRAME_BYTES_MAX};
	if (archive_path != NULL && conf->archive_driver == ARCHIVE_DIR &&
	    snprintf(j->other_path, sizeof j->other_path, "%s/%s", conf->archive_dir, archive_path) <
		(int)sizeof j->other_path)
		j->picture.other_path = j->other_path;
	return true;
}

static size_t kind_of(const char *name)
{
	size_t i = 0;

	while (i + 1 < FOLLOWUPS && strcmp(kinds[i].kind, name) != 0)
		i++;
	return i;
}

static void begin(struct dispatcher *d, PGresult *result, int row)
{
	size_t kind = kind_of(PQgetvalue(result, row, KIND_COLUMN));
	struct job *j = job_new(d, &d->followups.lanes[kind], result, row, PERMIT_COLUMN);

	if (j == NULL)
		return;
	j->state = JOB_READY;
	if (!PQgetisnull(result, row, FACTS_COLUMN))
		j->facts = json_tokener_parse(PQgetvalue(result, row, FACTS_COLUMN));
	if (d->stopping)
		job_fail(j, "given back: the dispatcher stops", 0, false, true);
	else if (j->facts == NULL)
		job_fail(j, "what it was about is gone", 0, true, false);
	else
		kinds[kind].begin(j);
}

/* The row without a job: there are questions to the model for which there is no permit yet. */
static void wait_for_permit(struct dispatcher *d, const char *text)
{
	struct json_object *facts = json_tokener_parse(text);
	int64_t wait_ms = POLL_MS;

	(void)json_get_int64(facts, "wait_ms", &wait_ms, NULL);
	d->followups.in_line = true;
	if (clock_ms() + wait_ms < d->followups.due)
		d->followups.due = clock_ms() + wait_ms;
	json_object_put(facts);
}

static void claimed(void *arg, PGresult *result, const char *error)
{
	struct dispatcher *d = arg;

	d->followups.claiming = false;
	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK) {
		if (result != NULL)
			log_error("no claim of follow-ups: %s", error);
		return;
	}
	d->followups.in_line = false;
	for (int i = 0; i < PQntuples(result); i++) {
		if (PQgetisnull(result, i, 0)) {
			wait_for_permit(d, PQgetvalue(result, i, FACTS_COLUMN));
		} else {
			d->followups.due = 0; /* there may be more */
			begin(d, result, i);
		}
	}
}

/* How many more of a kind may be claimed. An archive that failed gets one job at a time until it works again. */
static size_t room(const struct dispatcher *d, size_t kind, int64_t now)
{
	const struct lane *lane = &d->followups.lanes[kind];
	const struct node_state *archive = &d->followups.archive;
	size_t max = lane->inflight_max;

	if (kind == FOLLOWUP_ARCHIVE && (d->conf.archive_driver == ARCHIVE_NONE || now < archive->resume_at))
		return 0;
	if (kind == FOLLOWUP_ARCHIVE && archive->failures > 0)
		max = 1;
	if (kind == FOLLOWUP_ESCALATE && !escalate_possible(d))
		return 0;
	return lane->held < max ? max - lane->held : 0;
}

int64_t followups_tick(struct dispatcher *d, int64_t now)
{
	char n[FOLLOWUPS][24];
	size_t sum = 0;

	if (d->stopping || d->followups.claiming || !d->membership.registered || !dbq_connected(d->db))
		return now + POLL_MS;
	if (now < d->followups.due)
		return d->followups.due;
	for (size_t i = 0; i < FOLLOWUPS; i++) {
		size_t more = room(d, i, now);

		sum += more;
		snprintf(n[i], sizeof n[i], "%zu", more);
	}
	d->followups.due = now + POLL_MS;
	if (sum > 0)
		d->followups.claiming =
		    dbq_submit(d->db, "SELECT * FROM camserver.followup_claim($1, $2, $3, $4, $5)", 5,
			(const char *[]){
			    d->id, n[FOLLOWUP_ARCHIVE], n[FOLLOWUP_NOTIFY], n[FOLLOWUP_ESCALATE], d->conf.llm_model},
			claimed, d) == 0;
	return d->followups.due;
}

void followups_abort(struct dispatcher *d)
{
	for (size_t i = 0; i < FOLLOWUPS; i++)
		for (struct job *j = d->followups.lanes[i].jobs, *next; j != NULL; j = next) {
			next = j->next;
			if (j->transfer == NULL && j->waiting == NULL) /* a task has it, and ends by itself */
				continue;
			http_cancel(j->transfer);
			job_fail(j, "given back: the dispatcher stops", 0, false, true);
		}
}
