/* SPDX-License-Identifier: Apache-2.0
 * The host's load as Linux tells it. */
#ifndef CAM_PROCFS_H
#define CAM_PROCFS_H

#include "common/err.h"

#include <stdint.h>

struct procfs_load {
	uint64_t cpu_busy, cpu_total; /* ticks since boot; the use is in the difference of two readings */
	double memory_percent;        /* what is not available to a new program */
	double swap_mb;               /* in use */
};

/* dir is normally /proc. *ret is untouched on failure. */
int procfs_read(const char *dir, struct procfs_load *ret, struct err *e);

#endif
