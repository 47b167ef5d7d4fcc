/* SPDX-License-Identifier: Apache-2.0
 * How long to wait before trying again. */
#ifndef CAM_BACKOFF_H
#define CAM_BACKOFF_H

#include <stdint.h>

/* Doubles from base_ms with each failed attempt (the first is 1) up to max_ms, and takes between half and all of
 * it, by random (any 32 bits), so that many who failed together do not come back together. */
int64_t backoff_ms(unsigned attempt, int64_t base_ms, int64_t max_ms, uint32_t random);

#endif
