/* SPDX-License-Identifier: Apache-2.0
 * Jobs of the kind escalate: a language model's second opinion on what the inference node did not understand. */
#ifndef CAM_ESCALATE_H
#define CAM_ESCALATE_H

#include "dispatcher/job.h"

/* There is a model to ask. */
bool escalate_possible(const struct dispatcher *d);
void escalate_begin(struct job *j);

#endif
