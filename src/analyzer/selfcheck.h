/* SPDX-License-Identifier: Apache-2.0
 * Whether the server answers, as a client sees it: what systemd's watchdog is told. */
#ifndef CAM_SELFCHECK_H
#define CAM_SELFCHECK_H

#include <stdbool.h>
#include <sys/socket.h>

/* GET /healthz at that address and port; false if there is no 200 within a few seconds. */
bool selfcheck(const struct sockaddr_storage *address, unsigned port);

#endif
