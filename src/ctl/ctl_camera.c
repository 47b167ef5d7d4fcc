/* SPDX-License-Identifier: Apache-2.0
 * camctl camera: the cameras that streams and frames belong to. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

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
		result = ctl_do(ctl, "SELECT camserver.camera_set($1, $2::jsonb)", 2, (const char *[]){ctl->argv[0], changes});
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

	if (ctl_query(ctl, "SELECT 1 FROM camserver.cameras WHERE camera_id = $1", 1, (const char *[]){ctl->argv[0]}, &result) < 0)
		return EXIT_FAILURE;
	found = PQntuples(result);
	PQclear(result);
	if (found == 0) {
		fprintf(stderr, "camctl: there is no camera %s; `camctl camera add %s` makes it\n", ctl->argv[0], ctl->argv[0]);
		return EXIT_FAILURE;
	}
	return change(ctl);
}
