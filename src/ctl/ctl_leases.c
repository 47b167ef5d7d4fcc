/* SPDX-License-Identifier: Apache-2.0
 * camctl leases: who watches what; why leases ended or were refused; taking one away. */
#include "common/ident.h"
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

int ctl_leases_list(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT * FROM camserver.live_leases", 0, NULL);
}

int ctl_leases_ended(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT * FROM camserver.ended_leases LIMIT 100", 0, NULL);
}

int ctl_refusals(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT * FROM camserver.refusals", 0, NULL);
}

int ctl_leases_revoke(struct ctl *ctl)
{
	PGresult *result = NULL;
	bool done;

	if (!ident_is_uuid(ctl->argv[0])) {
		fprintf(stderr, "camctl: \"%s\" is not a lease id; `camctl leases` lists them\n", ctl->argv[0]);
		return EXIT_FAILURE;
	}
	if (ctl_query(ctl, "SELECT camserver.lease_revoke($1)", 1, (const char *[]){ctl->argv[0]}, &result) < 0)
		return EXIT_FAILURE;
	done = PQgetvalue(result, 0, 0)[0] == 't';
	PQclear(result);
	if (!done) {
		fprintf(stderr, "camctl: there is no such live lease\n");
		return EXIT_FAILURE;
	}
	printf("revoked; the viewer learns it with the next heartbeat\n");
	return EXIT_SUCCESS;
}
