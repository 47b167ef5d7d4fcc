/* SPDX-License-Identifier: Apache-2.0
 * Reports the host's shared counters to the database, where the sums over all hosts are read. */
#ifndef CAM_COUNTERS_H
#define CAM_COUNTERS_H

#include "dispatcher/dispatcher.h"

int64_t counters_tick(struct dispatcher *d, int64_t now);

#endif
