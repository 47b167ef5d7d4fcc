/* SPDX-License-Identifier: Apache-2.0
 * Sends a request on and its answer back, piece by piece as it comes. One relay a thread; connections are kept. */
#ifndef CAM_RELAY_H
#define CAM_RELAY_H

#include "common/err.h"

#include <fcgiapp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct relay;

enum relay_end {
	RELAY_DONE,        /* the whole answer was passed on */
	RELAY_FAILED,      /* nobody there, or no HTTP; nothing was sent to the client */
	RELAY_TIMEOUT,     /* nothing was sent to the client */
	RELAY_BROKEN,      /* the answer ended in the middle; the client has a part of it */
	RELAY_CLIENT_GONE, /* and the upstream was cut off */
};

struct relay_request {
	const char *url;
	const char *type;          /* of the body */
	const char *authorization; /* a header line, or "" */
	const char *accept;        /* or NULL */
	const char *body;
	size_t len;
	long timeout_ms;
	const char *headers; /* lines for the client, in front of the upstream's */
};

/* stop: while true, transfers are cut off. NULL: out of memory. */
struct relay *relay_new(const _Atomic bool *stop);
void relay_free(struct relay *r);
/* *e says what went wrong unless RELAY_DONE. */
enum relay_end relay_run(struct relay *r, const struct relay_request *request, FCGX_Request *fcgi, struct err *e);

#endif
