/* SPDX-License-Identifier: Apache-2.0
 * camctl doctor: what the checks share. A check looks at one thing and calls found() once or more; everything that is
 * not well names what to do about it. */
#ifndef CAM_DOCTOR_H
#define CAM_DOCTOR_H

#include "ctl/ctl.h"

#include <sys/types.h>

enum finding { FINDING_OK, FINDING_WARNING, FINDING_PROBLEM };

struct json_object;

struct doctor {
	struct ctl *ctl;
	struct json_object *findings; /* with --json, instead of lines */
	int warnings, problems;
	bool database; /* whether it answers; checks that need it are left out otherwise */
	uid_t user;    /* whom the programs run as: the owner of RUN_DIR */
	bool has_user;
	bool outsider; /* neither root nor that user: what the programs may do cannot be tried */
};

/* check: one word; fix: a command or an instruction, NULL with FINDING_OK. */
void found(struct doctor *d, enum finding level, const char *check, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Of the host: directories, sockets, keys, nodes, the web server. */
void doctor_user(struct doctor *d);
void doctor_spool(struct doctor *d);
void doctor_archive(struct doctor *d);
void doctor_sockets(struct doctor *d);
void doctor_media_key(struct doctor *d);
void doctor_node(struct doctor *d);
void doctor_web_server(struct doctor *d);

#endif
