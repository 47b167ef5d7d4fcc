/* SPDX-License-Identifier: Apache-2.0
 * The I/O of a router, for a program that lives in a loop: nodes that are away are probed, what is found is reported to
 * the database, and changes that others make are heard. Nothing here blocks. */
#ifndef CAM_ROUTER_CLIENT_H
#define CAM_ROUTER_CLIENT_H

#include "common/dbq.h"
#include "common/http.h"
#include "common/router.h"

struct router_client;

/* All of these are the program's and must live on; name says who reports. A connection of its own hears of changes.
 * NULL: out of memory. */
struct router_client *router_client_new(
    struct router *r, struct dbq *db, struct http *http, const char *database_url, const char *name);
void router_client_free(struct router_client *c);

/* Has the candidates of a model fetched unless they are fresh; the next tick after the answer finds them. For programs
 * that have no other way to them. */
void router_client_want(struct router_client *c, const char *model, int64_t now);

/* For the loop: the connection to wait for as well, and what to do on every turn; returns when at the latest. */
struct dbq *router_client_ear(struct router_client *c);
int64_t router_client_tick(struct router_client *c, int64_t now);

#endif
