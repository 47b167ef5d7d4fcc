/* SPDX-License-Identifier: Apache-2.0
 * Jobs of the kind notify: one message to one channel. */
#ifndef CAM_NOTIFY_H
#define CAM_NOTIFY_H

#include "dispatcher/job.h"

void notify_begin(struct job *j);

#endif
