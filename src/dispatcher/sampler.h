/* SPDX-License-Identifier: Apache-2.0
 * The host's health, sampled every 2 s and judged by the policy. */
#ifndef CAM_SAMPLER_H
#define CAM_SAMPLER_H

#include "dispatcher/dispatcher.h"

int64_t sampler_tick(struct dispatcher *d, int64_t now);

#endif
