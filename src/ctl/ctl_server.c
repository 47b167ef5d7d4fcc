/* SPDX-License-Identifier: Apache-2.0
 * camctl server: stream servers and their budgets. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

int ctl_server_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT b.*, s.max_ui_users, s.sub_cost, s.main_cost, s.modal_ttl_sec, s.heartbeat_grace_sec"
	    " FROM camserver.budget b JOIN camserver.stream_servers s USING (stream_server_id)",
	    0, NULL);
}

int ctl_server_set(struct ctl *ctl)
{
	char *changes = ctl_changes(ctl, 1);
	int result = -1;

	if (changes != NULL)
		result = ctl_do(ctl, "SELECT camserver.stream_server_set($1, $2::jsonb)", 2,
		    (const char *[]){ctl->argv[0], changes});
	free(changes);
	if (result == 0)
		printf("stream server %s saved\n", ctl->argv[0]);
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
