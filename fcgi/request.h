/* SPDX-License-Identifier: Apache-2.0
 * One HTTP request as FastCGI hands it over, strictly read, everything bounded. */
#ifndef CAM_REQUEST_H
#define CAM_REQUEST_H

#include "common/buf.h"

#include <fcgiapp.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	REQUEST_PATH_MAX = 512,
	REQUEST_ARGS_MAX = 2,
	REQUEST_DRAIN_MAX = 64 * 1024 * 1024, /* of a body that is too large; beyond, the connection is closed */
};

struct request {
	FCGX_Request *fcgi;
	const char *method;
	char path[REQUEST_PATH_MAX];     /* decoded, without prefix and query */
	char segments[REQUEST_PATH_MAX]; /* storage of args */
	char *args[REQUEST_ARGS_MAX];    /* what stood at the route's {placeholders} */
	struct buf body;
};

/* Fills method and path; NULL, or the error code that the address deserves. */
const char *request_parse(struct request *r, FCGX_Request *fcgi, const char *url_prefix);
/* Reads the whole body, keeping at most max bytes; NULL or an error code. Always takes the body off the
 * connection, also where the answer will be an error, since some clients see a broken connection otherwise. */
const char *request_read_body(struct request *r, size_t max);
/* A CGI variable such as HTTP_COOKIE; NULL when absent or empty. */
const char *request_var(const struct request *r, const char *name);
/* The media type of the body, without parameters, is this one. */
bool request_is_type(const struct request *r, const char *type);

#endif
