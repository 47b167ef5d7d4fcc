/* SPDX-License-Identifier: Apache-2.0
 * camctl setting: tunables that take effect without a restart. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

int ctl_setting_list(struct ctl *ctl)
{
	return ctl_list(ctl,
	    "SELECT name, value, kind, min_value, max_value, description FROM camserver.settings ORDER BY name", 0,
	    NULL);
}

int ctl_setting_set(struct ctl *ctl)
{
	PGresult *result = NULL;

	if (ctl_query(ctl, "SELECT camserver.setting_set($1, $2)", 2, (const char *[]){ctl->argv[0], ctl->argv[1]},
		&result) < 0)
		return EXIT_FAILURE;
	printf("%s: %s, was %s\n", ctl->argv[0], ctl->argv[1], PQgetvalue(result, 0, 0));
	PQclear(result);
	return EXIT_SUCCESS;
}
