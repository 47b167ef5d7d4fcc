/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/gray.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct gray *gray_new(int width, int height)
{
	struct gray *g;

	if (width < 1 || height < 1)
		return NULL;
	g = calloc(1, sizeof *g + (size_t)width * (size_t)height);
	if (g != NULL) {
		g->width = width;
		g->height = height;
	}
	return g;
}

struct gray *gray_copy(const struct gray *g)
{
	struct gray *copy = gray_new(g->width, g->height);

	if (copy != NULL)
		memcpy(copy->px, g->px, (size_t)g->width * (size_t)g->height);
	return copy;
}

void gray_free(struct gray *g)
{
	free(g);
}

static uint8_t mean_of(const struct gray *g, int x0, int x1, int y0, int y1)
{
	long sum = 0, n = (long)(x1 - x0) * (y1 - y0);

	for (int y = y0; y < y1; y++)
		for (int x = x0; x < x1; x++)
			sum += gray_at(g, x, y);
	return (uint8_t)((sum + n / 2) / n);
}

static int scaled(int side, int max_side, int longest)
{
	int s = (int)(((long)side * max_side + longest / 2) / longest);

	return s > 0 ? s : 1;
}

/* Where cell i of n begins when length is cut into n cells. */
static int cut(int i, int n, int length)
{
	return (int)((long)i * length / n);
}

struct gray *gray_shrink(const struct gray *g, int max_side)
{
	int longest = g->width > g->height ? g->width : g->height;
	struct gray *s;

	if (longest <= max_side)
		return gray_copy(g);
	s = gray_new(scaled(g->width, max_side, longest), scaled(g->height, max_side, longest));
	if (s == NULL)
		return NULL;
	for (int y = 0; y < s->height; y++)
		for (int x = 0; x < s->width; x++)
			s->px[y * s->width + x] = mean_of(g, cut(x, s->width, g->width), cut(x + 1, s->width, g->width),
			    cut(y, s->height, g->height), cut(y + 1, s->height, g->height));
	return s;
}
