/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3 };

struct canvas {
	int width, height; /* with CANVAS_SCALE */
	uint8_t rgb[];
};

struct canvas *canvas_new(int width, int height)
{
	int w = width * CANVAS_SCALE, h = height * CANVAS_SCALE;
	struct canvas *c = calloc(1, sizeof *c + (size_t)w * (size_t)h * CHANNELS);

	if (c != NULL) {
		c->width = w;
		c->height = h;
	}
	return c;
}

void canvas_free(struct canvas *c)
{
	free(c);
}

void canvas_copy(struct canvas *to, const struct canvas *from)
{
	memcpy(to->rgb, from->rgb, (size_t)from->width * (size_t)from->height * CHANNELS);
}

uint32_t canvas_hash(uint32_t x, uint32_t y, uint32_t z)
{
	uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u ^ z * 0xc2b2ae3du;

	h = (h ^ h >> 15) * 0x2c1b3c6du;
	h = (h ^ h >> 12) * 0x297a2d39u;
	return h ^ h >> 15;
}

static double at_lattice(int x, int y)
{
	return canvas_hash((uint32_t)x, (uint32_t)y, 1) / (double)UINT32_MAX;
}

/* Smooth noise, -1..1: values on a lattice, and straight lines between them. */
static double grain_at(double x, double y)
{
	int ix = (int)floor(x), iy = (int)floor(y);
	double fx = x - ix, fy = y - iy;
	double upper = at_lattice(ix, iy) * (1 - fx) + at_lattice(ix + 1, iy) * fx;
	double lower = at_lattice(ix, iy + 1) * (1 - fx) + at_lattice(ix + 1, iy + 1) * fx;

	return 2 * (upper * (1 - fy) + lower * fy) - 1;
}

static uint8_t to_byte(double v)
{
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

static double channel(uint32_t rgb, int i)
{
	return rgb >> (16 - 8 * i) & 0xff;
}

/* One row of a shape; down tells how far down in the shape it is, 0..1. */
static void fill_span(struct canvas *c, int y, double x1, double x2, double down, const struct paint *p)
{
	int first = (int)ceil(fmax(0, x1 - 0.5)), last = (int)floor(fmin(c->width - 1, x2 - 0.5));
	double alpha = p->alpha > 0 ? p->alpha : 1, step = CANVAS_SCALE * (p->size > 0 ? p->size : 1);

	for (int x = first; x <= last; x++) {
		uint8_t *px = c->rgb + ((size_t)y * (size_t)c->width + (size_t)x) * CHANNELS;
		double grain = p->grain > 0 ? p->grain * grain_at(x / step, y / step) : 0;

		for (int i = 0; i < CHANNELS; i++) {
			double v = channel(p->top, i) * (1 - down) + channel(p->bottom, i) * down + grain;

			px[i] = to_byte(v * alpha + px[i] * (1 - alpha));
		}
	}
}

/* Where the outline crosses the row's middle, from left to right. */
static int crossings(const struct point *points, int n, double y, double ret[CANVAS_POINTS_MAX])
{
	int count = 0;

	for (int i = 0; i < n; i++) {
		struct point a = points[i], b = points[(i + 1) % n];
		double x;
		int at = count;

		if ((a.y <= y) == (b.y <= y))
			continue;
		x = a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x);
		for (; at > 0 && ret[at - 1] > x; at--)
			ret[at] = ret[at - 1];
		ret[at] = x;
		count++;
	}
	return count;
}

void canvas_polygon(struct canvas *c, const struct point *points, int n, const struct paint *paint)
{
	struct point scaled[CANVAS_POINTS_MAX];
	double top = INFINITY, bottom = -INFINITY, x[CANVAS_POINTS_MAX];

	for (int i = 0; i < n; i++) {
		scaled[i] = (struct point){points[i].x * CANVAS_SCALE, points[i].y * CANVAS_SCALE};
		top = fmin(top, scaled[i].y);
		bottom = fmax(bottom, scaled[i].y);
	}
	for (int y = (int)fmax(0, floor(top)); y < (int)fmin(c->height, ceil(bottom)); y++) {
		double down = fmin(1, fmax(0, (y + 0.5 - top) / (bottom - top)));
		int count = crossings(scaled, n, y + 0.5, x);

		for (int i = 0; i + 1 < count; i += 2)
			fill_span(c, y, x[i], x[i + 1], down, paint);
	}
}

void canvas_rect(struct canvas *c, double x1, double y1, double x2, double y2, const struct paint *paint)
{
	canvas_polygon(c, (struct point[]){{x1, y1}, {x2, y1}, {x2, y2}, {x1, y2}}, 4, paint);
}

void canvas_bar(struct canvas *c, struct point from, struct point to, double width, const struct paint *paint)
{
	double length = hypot(to.x - from.x, to.y - from.y);
	double dx = (to.y - from.y) / length * width / 2, dy = (from.x - to.x) / length * width / 2;

	if (length <= 0)
		return;
	canvas_polygon(c,
	    (struct point[]){
		{from.x + dx, from.y + dy}, {to.x + dx, to.y + dy}, {to.x - dx, to.y - dy}, {from.x - dx, from.y - dy}},
	    4, paint);
}

void canvas_ellipse(struct canvas *c, double x, double y, double rx, double ry, const struct paint *paint)
{
	double top = (y - ry) * CANVAS_SCALE, bottom = (y + ry) * CANVAS_SCALE;

	for (int row = (int)fmax(0, floor(top)); row < (int)fmin(c->height, ceil(bottom)); row++) {
		double down = (row + 0.5 - top) / (bottom - top), half = 1 - (2 * down - 1) * (2 * down - 1);

		if (half <= 0)
			continue;
		half = rx * sqrt(half);
		fill_span(c, row, (x - half) * CANVAS_SCALE, (x + half) * CANVAS_SCALE, down, paint);
	}
}

void canvas_render(const struct canvas *c, double light, int noise, uint32_t number, uint8_t *ret_rgb)
{
	size_t stride = (size_t)c->width * CHANNELS;

	for (int y = 0; y < c->height / CANVAS_SCALE; y++) {
		for (int x = 0; x < c->width / CANVAS_SCALE; x++) {
			const uint8_t *px =
			    c->rgb + (size_t)y * CANVAS_SCALE * stride + (size_t)x * CANVAS_SCALE * CHANNELS;
			uint32_t hash = canvas_hash((uint32_t)x, (uint32_t)y, number);
			int shift = (int)(hash % (2 * (unsigned)noise + 1)) - noise;

			for (int i = 0; i < CHANNELS; i++) {
				int sum = px[i] + px[i + CHANNELS] + px[stride + (size_t)i] +
					  px[stride + CHANNELS + (size_t)i];

				*ret_rgb++ = to_byte(sum * light / 4 + shift);
			}
		}
	}
}
