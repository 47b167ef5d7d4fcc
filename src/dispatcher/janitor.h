/* SPDX-License-Identifier: Apache-2.0
 * Keeps the spool from filling up: images in which nothing was detected go after their time. */
#ifndef CAM_JANITOR_H
#define CAM_JANITOR_H

#include "dispatcher/dispatcher.h"

int64_t janitor_tick(struct dispatcher *d, int64_t now);

#endif
