/* SPDX-License-Identifier: Apache-2.0
 * camctl channel: where notifications go; camctl notifications: what became of them. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEST_WAIT_SEC = 30 };

int ctl_channel_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT name, kind, server, array_to_string(mail_to, ', ') AS mail_to, min_severity, daily_hour, enabled,"
	    " camserver.rfc3339(last_sent) AS last_sent, waiting, dead FROM camserver.channel_list",
	    0, NULL);
}

static int exists(struct ctl *ctl, const char *name)
{
	PGresult *result = NULL;
	int found;

	if (ctl_query(ctl, "SELECT 1 FROM camserver.channels WHERE name = $1", 1, (const char *[]){name}, &result) < 0)
		return -1;
	found = PQntuples(result);
	PQclear(result);
	return found;
}

static int change(struct ctl *ctl)
{
	char *changes = ctl_changes(ctl, 1);
	int result = -1;

	if (changes != NULL)
		result = ctl_do(
		    ctl, "SELECT camserver.channel_set($1, $2::jsonb)", 2, (const char *[]){ctl->argv[0], changes});
	free(changes);
	if (result == 0)
		printf("channel %s saved; `camctl channel test %s` sends a test message\n", ctl->argv[0], ctl->argv[0]);
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int ctl_channel_add(struct ctl *ctl)
{
	return change(ctl);
}

int ctl_channel_set(struct ctl *ctl)
{
	int found = exists(ctl, ctl->argv[0]);

	if (found == 0)
		fprintf(stderr, "camctl: there is no channel %s; `camctl channel add %s kind=... url=...` makes it\n",
		    ctl->argv[0], ctl->argv[0]);
	return found == 1 ? change(ctl) : EXIT_FAILURE;
}

int ctl_channel_remove(struct ctl *ctl)
{
	PGresult *result = NULL;
	bool done;

	if (ctl_query(ctl, "DELETE FROM camserver.channels WHERE name = $1 RETURNING 1", 1,
		(const char *[]){ctl->argv[0]}, &result) < 0)
		return EXIT_FAILURE;
	done = PQntuples(result) > 0;
	PQclear(result);
	if (done)
		printf("channel %s removed, with the record of its notifications\n", ctl->argv[0]);
	else
		fprintf(stderr, "camctl: there is no channel %s\n", ctl->argv[0]);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* What has become of a test message: 1 delivered, 0 not yet, -1 failed; the reason is printed. */
static int outcome(struct ctl *ctl, const char *id, bool last)
{
	PGresult *result = NULL;
	int done = 0;

	if (ctl_query(ctl,
		"SELECT n.state, coalesce(n.reason, j.last_error, 'no dispatcher has taken it: is cam-dispatcher "
		"running?')"
		" FROM camserver.notifications n LEFT JOIN camserver.inference_jobs j USING (job_id)"
		" WHERE n.notification_id = $1::bigint",
		1, (const char *[]){id}, &result) < 0)
		return -1;
	if (PQntuples(result) == 0 || strcmp(PQgetvalue(result, 0, 0), "dead") == 0)
		done = -1;
	else if (strcmp(PQgetvalue(result, 0, 0), "sent") == 0)
		done = 1;
	if ((last || done < 0) && done < 1 && PQntuples(result) > 0)
		fprintf(stderr, "camctl: not delivered%s: %s\n", done == 0 ? " yet" : "", PQgetvalue(result, 0, 1));
	PQclear(result);
	return done;
}

int ctl_channel_test(struct ctl *ctl)
{
	PGresult *result = NULL;
	char id[32];
	int done = 0;

	if (ctl_query(ctl, "SELECT camserver.channel_test($1)", 1, (const char *[]){ctl->argv[0]}, &result) < 0)
		return EXIT_FAILURE;
	snprintf(id, sizeof id, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	for (int i = 0; i < TEST_WAIT_SEC * 5 && done == 0; i++) {
		usleep(200 * 1000);
		done = outcome(ctl, id, i == TEST_WAIT_SEC * 5 - 1);
	}
	if (done == 1)
		printf("delivered to channel %s\n", ctl->argv[0]);
	return done == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int ctl_notifications(struct ctl *ctl)
{
	const char *state = ctl_option(ctl, "--state", NULL), *camera = ctl_option(ctl, "--camera", NULL);
	char limit[CTL_LIMIT_LEN + 1];

	if (ctl_limit(ctl, limit) < 0)
		return EXIT_FAILURE;
	return ctl_list(ctl,
	    "SELECT notification_id, channel, kind, state, reason, camera_id, primary_event, severity, rule, count,"
	    " camserver.rfc3339(created_at) AS created_at, camserver.rfc3339(sent_at) AS sent_at, attempt, last_error"
	    " FROM camserver.notification_list WHERE ($1::text IS NULL OR state = $1)"
	    " AND ($2::text IS NULL OR camera_id = $2) LIMIT $3::bigint",
	    3, (const char *[]){state, camera, limit});
}

int ctl_reviews(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT review_id, event_uuid, camera_id, outcome, reason, model, summary,"
	    " camserver.rfc3339(asked_at) AS asked_at, camserver.rfc3339(finished_at) AS finished_at"
	    " FROM camserver.review_list LIMIT 50",
	    0, NULL);
}
