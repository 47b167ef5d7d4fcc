/* SPDX-License-Identifier: Apache-2.0
 * This process in the database: registered at start, heartbeating, signed off at the end. */
#ifndef CAM_MEMBERSHIP_H
#define CAM_MEMBERSHIP_H

#include "dispatcher/dispatcher.h"

int64_t membership_tick(struct dispatcher *d, int64_t now);
/* Signs off; d->membership.stopped tells when that is done or has failed. */
void membership_stop(struct dispatcher *d);

#endif
