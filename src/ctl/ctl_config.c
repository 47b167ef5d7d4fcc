/* SPDX-License-Identifier: Apache-2.0
 * camctl config: what the programs would run with, and where each value comes from. */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>

int ctl_config_show(struct ctl *ctl)
{
	for (const struct conf_option *o = conf_options; o->name != NULL; o++) {
		char value[1024];
		const char *origin;

		conf_value_text(ctl->conf, o, value, sizeof value, &origin);
		printf("# %s (%s)\n%s=%s\n", o->help, origin, o->name, value);
	}
	return EXIT_SUCCESS;
}
