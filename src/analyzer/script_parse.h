/* SPDX-License-Identifier: Apache-2.0
 * Reading of a script file. */
#ifndef CAM_SCRIPT_PARSE_H
#define CAM_SCRIPT_PARSE_H

#include "analyzer/script.h"

struct script {
	struct json_object *document; /* the strings of the rules live here */
	struct script_rule *rules;
	size_t n;
	int refs; /* guarded by the book's lock */
};

/* Reads and checks the whole file. NULL and *e on any fault. */
struct script *script_parse_file(const char *path, struct err *e);
/* Accepts NULL. Does not look at refs. */
void script_parse_free(struct script *s);

#endif
