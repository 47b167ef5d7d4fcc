/* SPDX-License-Identifier: Apache-2.0
 * The query part of an address, strictly: every name is one that the route knows, at most once, with a value. */
#ifndef CAM_QUERY_H
#define CAM_QUERY_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { QUERY_BYTES_MAX = 2048, QUERY_VALUE_MAX = 256 };

struct query_param {
	const char *name;
	const char *value; /* NULL: not sent */
};

struct query {
	char text[QUERY_BYTES_MAX]; /* storage of the values */
};

/* Fills in the values of params, which point into *q, from what follows the '?' in uri. NULL, or the error code that
 * the address deserves, with *e naming what is wrong. */
const char *query_parse(const char *uri, struct query *q, struct query_param *params, size_t n, struct err *e);
/* A whole number of low..high; *ret stays as it is when the parameter was not sent. -1 and *e if it is none. */
int query_int(const struct query_param *p, long low, long high, long *ret, struct err *e);

#endif
