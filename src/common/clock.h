/* SPDX-License-Identifier: Apache-2.0
 * Monotonic time for timers. Wall-clock decisions belong to the database. */
#ifndef CAM_CLOCK_H
#define CAM_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
int64_t clock_us(void);

#endif
