/* SPDX-License-Identifier: Apache-2.0
 * camctl jobs: what waits, what runs, what died and why; another try, or none any more. */
#include "common/json.h"
#include "ctl/ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_ID_LEN_MAX = 18 };

int ctl_jobs_list(struct ctl *ctl)
{
	const char *status = ctl_option(ctl, "--status", NULL), *kind = ctl_option(ctl, "--kind", NULL);
	const char *camera = ctl_option(ctl, "--camera", NULL);
	char limit[CTL_LIMIT_LEN + 1];

	if (ctl_limit(ctl, limit) < 0)
		return EXIT_FAILURE;
	return ctl_list(ctl,
	    "SELECT j.job_id, j.kind, j.status, j.priority, j.camera_id, f.frame_uuid, j.attempt, j.max_attempt,"
	    " camserver.rfc3339(j.captured_at) AS captured_at, camserver.rfc3339(j.available_at) AS available_at,"
	    " camserver.rfc3339(j.finished_at) AS finished_at, j.last_error"
	    " FROM camserver.inference_jobs j LEFT JOIN camserver.frames f ON f.frame_id = j.frame_id"
	    " WHERE ($1::camserver.job_status IS NULL OR j.status = $1::camserver.job_status)"
	    " AND ($2::camserver.job_kind IS NULL OR j.kind = $2::camserver.job_kind)"
	    " AND ($3::text IS NULL OR j.camera_id = $3) ORDER BY j.job_id DESC LIMIT $4::bigint",
	    4, (const char *[]){status, kind, camera, limit});
}

/* Calls a function that takes a job and answers with an outcome. */
static int act(struct ctl *ctl, const char *sql, const char *done)
{
	const char *id = ctl->argv[0], *outcome = "", *status = "over";
	struct json_object *json;
	PGresult *row = NULL;
	int result = EXIT_FAILURE;

	if (strspn(id, "0123456789") != strlen(id) || *id == '\0' || strlen(id) > JOB_ID_LEN_MAX) {
		fprintf(stderr, "camctl: \"%s\" is not a job id; `camctl jobs` lists them\n", id);
		return EXIT_FAILURE;
	}
	if (ctl_query(ctl, sql, 1, (const char *[]){id}, &row) < 0)
		return EXIT_FAILURE;
	json = json_tokener_parse(PQgetvalue(row, 0, 0));
	PQclear(row);
	(void)json_get_string(json, "outcome", &outcome, NULL);
	(void)json_get_string(json, "status", &status, NULL);
	if (strcmp(outcome, "OK") == 0) {
		printf("job %s %s\n", id, done);
		result = EXIT_SUCCESS;
	} else if (strcmp(outcome, "UNKNOWN_JOB") == 0) {
		fprintf(stderr, "camctl: there is no job %s\n", id);
	} else {
		fprintf(stderr, "camctl: job %s is %s; that cannot be changed\n", id, status);
	}
	json_object_put(json);
	return result;
}

static int retry_all_dead(struct ctl *ctl)
{
	PGresult *row = NULL;

	if (ctl_left(ctl, 0) < 0 || ctl_query(ctl,
					"SELECT count(*) FILTER (WHERE r->>'outcome' = 'OK') FROM"
					" (SELECT camserver.job_retry(job_id) AS r FROM camserver.inference_jobs WHERE "
					"status = 'dead' ORDER BY job_id) x",
					0, NULL, &row) < 0)
		return EXIT_FAILURE;
	printf("%s dead jobs queued again\n", PQgetvalue(row, 0, 0));
	PQclear(row);
	return EXIT_SUCCESS;
}

int ctl_jobs_retry(struct ctl *ctl)
{
	if (ctl_flag(ctl, "--all-dead"))
		return retry_all_dead(ctl);
	return act(ctl, "SELECT camserver.job_retry($1::bigint)", "queued again");
}

int ctl_jobs_cancel(struct ctl *ctl)
{
	return act(ctl, "SELECT camserver.job_cancel($1::bigint)", "cancelled");
}
