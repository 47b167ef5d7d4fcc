/* SPDX-License-Identifier: Apache-2.0
 * A model call with its permit in hand: to a worker of the model's pool, to one of its nodes, or to its provider; and
 * again elsewhere, where that is safe. */
#ifndef CAM_FORWARD_H
#define CAM_FORWARD_H

#include "fcgi/gateway.h"
#include "fcgi/upstream.h"

struct forward {
	struct json_object *permit;   /* the GRANTED answer */
	const struct call_body *body; /* of the request; NULL: it is no JSON object */
	enum upstream_call call;
	long wait_sec; /* how long the caller will wait for a place; -1: not said */
};

/* Answers the request. Whatever happens, no worker and no node's place is left taken. */
void forward(struct worker *w, struct request *r, struct answer *a, const struct forward *f);
/* draft-ietf-httpapi-ratelimit-headers: the level that binds next, its quota and window, what is left and when it is
 * not any more what it is now. */
void forward_limit_headers(struct json_object *facts, struct buf *b);

#endif
