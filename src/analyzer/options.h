/* SPDX-License-Identifier: Apache-2.0
 * The command line of cam-analyzer. It needs no database and no configuration file. */
#ifndef CAM_ANALYZER_OPTIONS_H
#define CAM_ANALYZER_OPTIONS_H

#include "common/log.h"

#include <sys/socket.h>

struct options {
	struct sockaddr_storage address; /* where to listen */
	const char *script;              /* NULL: none */
	int max_inflight;
	enum log_level log_level;
};

/* -1 when the program should end at once with *ret_status: help was printed, or an argument is bad and stderr says
 * why. Strings belong to argv. */
int options_parse(int argc, char **argv, struct options *ret, int *ret_status);

#endif
