/* SPDX-License-Identifier: Apache-2.0
 * camctl node: inference nodes and how they do. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

int ctl_node_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT name, base_url, array_to_string(models, ',') AS models, state, inflight, max_inflight, weight,"
	    " latency_ms, requests, failures, ejections, http2, reason AS last_error FROM camserver.node_list",
	    0, NULL);
}

static int change(struct ctl *ctl, bool must_be_new)
{
	char *changes = ctl_changes(ctl, 1);
	int status = changes != NULL ? ctl_save(ctl, "node", changes, must_be_new) : EXIT_FAILURE;

	free(changes);
	return status;
}

int ctl_node_add(struct ctl *ctl)
{
	return change(ctl, true);
}

int ctl_node_set(struct ctl *ctl)
{
	return change(ctl, false);
}

int ctl_node_drain(struct ctl *ctl)
{
	bool off = ctl_flag(ctl, "--off");

	if (ctl_left(ctl, 1) < 0)
		return EXIT_FAILURE;
	return ctl_save(ctl, "node", off ? "{\"draining\": false}" : "{\"draining\": true}", false);
}

int ctl_node_remove(struct ctl *ctl)
{
	PGresult *row = NULL;
	bool was_there;

	if (ctl_query(ctl, "SELECT camserver.node_remove($1)", 1, (const char *[]){ctl->argv[0]}, &row) < 0)
		return EXIT_FAILURE;
	was_there = *PQgetvalue(row, 0, 0) == 't';
	PQclear(row);
	if (was_there)
		printf("node %s removed\n", ctl->argv[0]);
	else
		fprintf(stderr, "camctl: there is no node %s\n", ctl->argv[0]);
	return was_there ? EXIT_SUCCESS : EXIT_FAILURE;
}
