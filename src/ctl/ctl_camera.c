/* SPDX-License-Identifier: Apache-2.0
 * camctl camera: the cameras that streams and frames belong to. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQLSTATE_FOREIGN_KEY "23503"

int ctl_camera_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT camera_id, display_name, location_label, stream_server_id, enabled, suggest_weight, stream_url"
	    " FROM camserver.cameras ORDER BY camera_id",
	    0, NULL);
}

static int change(struct ctl *ctl)
{
	char *changes = ctl_changes(ctl, 1);
	int result = -1;

	if (changes != NULL)
		result = ctl_do(
		    ctl, "SELECT camserver.camera_set($1, $2::jsonb)", 2, (const char *[]){ctl->argv[0], changes});
	free(changes);
	if (result == 0)
		printf("camera %s saved\n", ctl->argv[0]);
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int ctl_camera_add(struct ctl *ctl)
{
	return change(ctl);
}

int ctl_camera_set(struct ctl *ctl)
{
	PGresult *result = NULL;
	int found;

	if (ctl_query(ctl, "SELECT 1 FROM camserver.cameras WHERE camera_id = $1", 1, (const char *[]){ctl->argv[0]},
		&result) < 0)
		return EXIT_FAILURE;
	found = PQntuples(result);
	PQclear(result);
	if (found == 0) {
		fprintf(stderr, "camctl: there is no camera %s; `camctl camera add %s` makes it\n", ctl->argv[0],
		    ctl->argv[0]);
		return EXIT_FAILURE;
	}
	return change(ctl);
}

int ctl_camera_remove(struct ctl *ctl)
{
	const char *id = ctl->argv[0];
	PGresult *result = NULL;
	struct err e;
	bool done;

	if (db_query(ctl->db, "DELETE FROM camserver.cameras WHERE camera_id = $1 RETURNING 1", 1, (const char *[]){id},
		&result, &e) != DB_OK) {
		if (strcmp(db_sqlstate(ctl->db), SQLSTATE_FOREIGN_KEY) == 0)
			fprintf(stderr,
			    "camctl: camera %s has frames, events or a live lease and cannot be removed;"
			    " `camctl camera set %s enabled=false` takes it out of use\n",
			    id, id);
		else
			fprintf(stderr, "camctl: %s\n", e.msg);
		return EXIT_FAILURE;
	}
	done = PQntuples(result) > 0;
	PQclear(result);
	if (done)
		printf("camera %s removed\n", id);
	else
		fprintf(stderr, "camctl: there is no camera %s\n", id);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
