/* SPDX-License-Identifier: Apache-2.0
 * camctl user: roles of the people whom the web server signs in. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

int ctl_user_list(struct ctl *ctl)
{
	return ctl_list(ctl, "SELECT user_name, role, created_at FROM camserver.users ORDER BY user_name", 0, NULL);
}

int ctl_user_set(struct ctl *ctl)
{
	if (ctl_do(ctl,
		"INSERT INTO camserver.users (user_name, role) VALUES ($1, $2::camserver.caller_role)"
		" ON CONFLICT (user_name) DO UPDATE SET role = excluded.role",
		2, (const char *[]){ctl->argv[0], ctl->argv[1]}) < 0)
		return EXIT_FAILURE;
	printf("%s is %s\n", ctl->argv[0], ctl->argv[1]);
	return EXIT_SUCCESS;
}

int ctl_user_remove(struct ctl *ctl)
{
	if (ctl_do(ctl, "DELETE FROM camserver.users WHERE user_name = $1", 1, (const char *[]){ctl->argv[0]}) < 0)
		return EXIT_FAILURE;
	printf("%s has no role of its own any more\n", ctl->argv[0]);
	return EXIT_SUCCESS;
}
