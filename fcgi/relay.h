/* SPDX-License-Identifier: Apache-2.0
 * Sends a request on and its answer back, piece by piece as it comes. One relay a thread; connections are kept. */
#ifndef CAM_RELAY_H
#define CAM_RELAY_H

#include "common/err.h"
#include "common/metrics.h"

#include <fcgiapp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct relay;

enum relay_end {
	RELAY_DONE,        /* the whole answer was passed on */
	RELAY_HELD,        /* the upstream's answer is an error, which is kept for relay_send_held() */
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
	bool http2;          /* from the first byte */
	bool fresh;          /* on a connection of its own: one that is kept may break, and curl then asks again */
	bool hold;           /* an answer of 429 or 5xx is not passed on: somebody else may be asked */
};

struct relay_result {
	long status;          /* of the upstream's answer; 0: none */
	long retry_after_sec; /* what it asked for, or 0 */
	bool reached;         /* somebody was there */
	long new_connections; /* that had to be opened */
	struct err e;         /* what went wrong unless RELAY_DONE or RELAY_HELD */
};

/* stop: while true, transfers are cut off. metrics may be NULL; both must live on. NULL: out of memory. */
struct relay *relay_new(const _Atomic bool *stop, struct metrics *metrics);
void relay_free(struct relay *r);
enum relay_end relay_run(
    struct relay *r, const struct relay_request *request, FCGX_Request *fcgi, struct relay_result *ret);
/* Passes on, after all, the answer that the last relay_run() held. */
void relay_send_held(struct relay *r);

#endif
