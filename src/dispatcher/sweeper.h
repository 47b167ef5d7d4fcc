/* SPDX-License-Identifier: Apache-2.0
 * Periodic work in the database. It decides what is due and sees to it that only one dispatcher does it; this
 * module asks often enough. */
#ifndef CAM_SWEEPER_H
#define CAM_SWEEPER_H

#include "dispatcher/dispatcher.h"

int64_t sweeper_tick(struct dispatcher *d, int64_t now);

#endif
