/* SPDX-License-Identifier: Apache-2.0
 * The loop: one wait for the database, HTTP transfers and signals together, then fixed steps. */
#ifndef CAM_LOOP_H
#define CAM_LOOP_H

#include "dispatcher/dispatcher.h"

/* Runs until SIGTERM or SIGINT has been carried out. reload is called on SIGHUP. */
void loop_run(struct dispatcher *d, void (*reload)(struct dispatcher *d));

#endif
