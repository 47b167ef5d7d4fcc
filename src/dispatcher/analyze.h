/* SPDX-License-Identifier: Apache-2.0
 * Jobs of the kind analyze: claimed in batches, images read beside the loop, many requests under way at the inference
 * node, results handed to commit. The specification's error table decides what becomes of each. */
#ifndef CAM_ANALYZE_H
#define CAM_ANALYZE_H

#include "dispatcher/dispatcher.h"

int64_t analyze_tick(struct dispatcher *d, int64_t now);
/* Gives back what is still under way. While d->stopping, the tick gives back what is not under way yet. */
void analyze_abort(struct dispatcher *d);
/* Nothing is held any more. */
bool analyze_idle(const struct dispatcher *d);

#endif
