/* SPDX-License-Identifier: Apache-2.0
 * What every program does first: --help, --version, --config FILE, -o NAME=value, and its log. */
#ifndef CAM_PROGRAM_H
#define CAM_PROGRAM_H

#include "common/conf.h"

struct program {
	const char *name;
	const char *usage; /* after the name, such as "[options]" */
	const char *about; /* one or more lines, ending in a line end */
};

/* Returns the index of the first argument that is not an option (programs without arguments pass
 * max_args 0), or -1 when the program should end at once with *ret_status: help was printed, or an option or the
 * configuration is bad and stderr says why. */
int program_start(const struct program *p, int argc, char **argv, int max_args, struct conf *conf, int *ret_status);

/* Reads the configuration again as program_start() did with the same arguments, into a fresh conf. On -1 *e says
 * why, and the running configuration should stay. conf_free() is needed in both cases. */
int program_reload(int argc, char **argv, struct conf *conf, struct err *e);

#endif
