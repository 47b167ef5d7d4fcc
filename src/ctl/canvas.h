/* SPDX-License-Identifier: Apache-2.0
 * A small drawing surface: filled polygons and ellipses with a little grain. It is kept at twice the picture's size in
 * both directions and averaged at the end, which smooths the edges. Coordinates are the picture's, in pixels. Pure. */
#ifndef CAM_CANVAS_H
#define CAM_CANVAS_H

#include <stdint.h>

enum { CANVAS_SCALE = 2, CANVAS_POINTS_MAX = 12 };

struct canvas;

struct point {
	double x, y;
};

struct paint {
	uint32_t top, bottom; /* 0xRRGGBB at the shape's upper and lower end */
	double grain;         /* amplitude of the grain, on the scale of 8-bit pixels; 0: none */
	double size;          /* pixels from one grain to the next; 0 reads as 1 */
	double alpha;         /* 0..1, where 0 reads as 1 */
};

/* NULL: out of memory. canvas_free() accepts NULL. */
struct canvas *canvas_new(int width, int height);
void canvas_free(struct canvas *c);
/* Both must have the same size. */
void canvas_copy(struct canvas *to, const struct canvas *from);

/* n is at most CANVAS_POINTS_MAX. What lies outside is cut off. */
void canvas_polygon(struct canvas *c, const struct point *points, int n, const struct paint *paint);
void canvas_rect(struct canvas *c, double x1, double y1, double x2, double y2, const struct paint *paint);
/* A bar from one point to another. */
void canvas_bar(struct canvas *c, struct point from, struct point to, double width, const struct paint *paint);
void canvas_ellipse(struct canvas *c, double x, double y, double rx, double ry, const struct paint *paint);

/* The picture, 3 bytes a pixel, every value multiplied by light; with noise of the amplitude that differs for every
 * number. */
void canvas_render(const struct canvas *c, double light, int noise, uint32_t number, uint8_t *ret_rgb);

/* The same number for the same arguments, and another one for others. */
uint32_t canvas_hash(uint32_t x, uint32_t y, uint32_t z);

#endif
