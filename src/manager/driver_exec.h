/* SPDX-License-Identifier: Apache-2.0
 * Workers as processes of this host, each the leader of a process group of its own. They live on when the manager ends,
 * and are found again by the next. */
#ifndef CAM_DRIVER_EXEC_H
#define CAM_DRIVER_EXEC_H

#include "manager/manager.h"

/* Finds the processes of an earlier life. */
void exec_discover(struct manager *m);
/* Takes note of processes that ended; to be called when m->exit_fd is readable. */
void exec_reap(struct manager *m);
/* A TCP port of this host that nobody listens on at the moment; -1 and *e. */
int exec_free_port(struct manager *m, struct err *e);

#endif
