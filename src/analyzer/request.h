/* SPDX-License-Identifier: Apache-2.0
 * One request, from its headers to its answer. Each connection has its own thread, so a request may wait. */
#ifndef CAM_ANALYZER_REQUEST_H
#define CAM_ANALYZER_REQUEST_H

#include "analyzer/analyzer.h"
#include "analyzer/form.h"

enum { REQUEST_PATH_MAX = 128, REQUEST_METHOD_MAX = 16, REQUEST_ALLOW_MAX = 64 };

struct route;

struct request {
	struct analyzer *analyzer;
	struct MHD_Connection *connection;
	char method[REQUEST_METHOD_MAX], path[REQUEST_PATH_MAX]; /* cut when longer: then no route matches */
	const struct route *route;                               /* NULL: no such path or method */
	char allow[REQUEST_ALLOW_MAX]; /* methods of the path, when only the method is wrong */
	int64_t started_ms;
	size_t body_max, received;
	struct buf body;                /* of PUT /v1/schema */
	struct form *form;              /* of POST /v1/analyze; NULL if it is not multipart */
	const struct script_rule *rule; /* NULL: none */
	enum stats_kind kind;
	bool open;       /* counted as begun, not yet as ended */
	bool slot;       /* holds one of max_inflight */
	bool overloaded; /* found no slot */
};

/* NULL: out of memory. */
struct request *request_new(
    struct analyzer *a, struct MHD_Connection *connection, const char *method, const char *path);
/* Frees all; a request without an answer is counted as such. Accepts NULL. */
void request_free(struct request *r);

/* To be called before the answer leaves: gives back the slot and counts the status. Does nothing the second time. */
void request_end(struct request *r, unsigned status);
/* Lets go of slot and form where the answer needs neither. */
void request_unload(struct request *r);

int request_fd(const struct request *r);
/* Sleeps; ms < 0 for ever. False if the client has gone or the program is to stop. */
bool request_wait(struct request *r, long ms);

#endif
