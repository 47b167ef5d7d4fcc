/* SPDX-License-Identifier: Apache-2.0
 * What should run, by the database, and what does, side by side once a second and whenever the database calls. */
#ifndef CAM_RECONCILE_H
#define CAM_RECONCILE_H

#include "manager/manager.h"

int64_t reconcile_tick(struct manager *m, int64_t now);
/* Signs off; m->sync.stopped tells when that is done or has failed. */
void reconcile_stop(struct manager *m);

#endif
