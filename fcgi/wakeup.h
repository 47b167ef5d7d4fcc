/* SPDX-License-Identifier: Apache-2.0
 * Event descriptors by which the threads of a process wake each other. */
#ifndef CAM_WAKEUP_H
#define CAM_WAKEUP_H

#include <stdint.h>
#include <unistd.h>

static inline void wakeup_signal(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof one) < 0)
		return; /* its counter is full: it is awake */
}

static inline void wakeup_drain(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof n) < 0)
		return;
}

#endif
