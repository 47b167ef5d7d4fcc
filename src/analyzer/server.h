/* SPDX-License-Identifier: Apache-2.0
 * The HTTP side of cam-analyzer: one thread a connection, a limit on connections, on bodies and on time. */
#ifndef CAM_ANALYZER_SERVER_H
#define CAM_ANALYZER_SERVER_H

#include "analyzer/analyzer.h"
#include "common/err.h"

#include <sys/socket.h>

/* Bounds the threads; a connection beyond is closed. Requests that a script lets hang count, too. */
enum { SERVER_CONNECTIONS_MAX = 256 };

struct server;

/* Begins to listen. a must live on. NULL and *e on failure. */
struct server *server_start(struct analyzer *a, const struct sockaddr *address, struct err *e);
/* Takes no more connections, lets running analyses end for a short time, then closes all. Accepts NULL. */
void server_stop(struct server *s);
/* The port it listens on. */
unsigned server_port(const struct server *s);

#endif
