/* SPDX-License-Identifier: Apache-2.0
 * An 8-bit gray image, rows without padding. */
#ifndef CAM_GRAY_H
#define CAM_GRAY_H

#include <stdint.h>

struct gray {
	int width, height; /* both at least 1 */
	uint8_t px[];      /* width * height, row by row */
};

/* Pixels are zero. NULL when a side is not positive or memory ran out. gray_free() accepts NULL. */
struct gray *gray_new(int width, int height);
struct gray *gray_copy(const struct gray *g);
void gray_free(struct gray *g);

/* A copy whose longer side is at most max_side, each pixel the mean of those it covers; never enlarges. The caller
 * frees it. NULL: out of memory. */
struct gray *gray_shrink(const struct gray *g, int max_side);

static inline int gray_at(const struct gray *g, int x, int y)
{
	return g->px[y * g->width + x];
}

#endif
