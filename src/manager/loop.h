/* SPDX-License-Identifier: Apache-2.0
 * The loop: one wait for the database, HTTP transfers, processes and signals together, then fixed steps. */
#ifndef CAM_MANAGER_LOOP_H
#define CAM_MANAGER_LOOP_H

#include "manager/manager.h"

/* Runs until SIGTERM or SIGINT has been carried out; reload is called on SIGHUP. */
void loop_run(struct manager *m, void (*reload)(struct manager *m));

#endif
