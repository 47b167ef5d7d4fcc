/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How the picture before is to be read to match the one now: now(x, y) ~ gain * before(x + dx, y + dy) + offset. */
struct match {
	int dx, dy;
	double gain, offset;
};

struct grid {
	int cols, rows;
	bool changed[MOTION_BLOCKS_MAX];
	int n_changed;
};

struct rect {
	int x1, y1, x2, y2;
};

static int clamp(int v, int low, int high)
{
	return v < low ? low : v > high ? high : v;
}

/* Outside the picture its border goes on. */
static int before_at(const struct gray *before, const struct match *m, int x, int y)
{
	return gray_at(before, clamp(x + m->dx, 0, before->width - 1), clamp(y + m->dy, 0, before->height - 1));
}

static double difference(const struct gray *before, const struct gray *now, const struct match *m, int x, int y)
{
	return gray_at(now, x, y) - (m->gain * before_at(before, m, x, y) + m->offset);
}

static struct rect block_rect(const struct grid *grid, const struct gray *g, int col, int row)
{
	return (struct rect){col * g->width / grid->cols, row * g->height / grid->rows,
	    (col + 1) * g->width / grid->cols, (row + 1) * g->height / grid->rows};
}

/* The median is not impressed by a large object that came into view, as the mean would be. */
static double median_difference(const struct gray *before, const struct gray *now, const struct match *m)
{
	long histogram[511] = {0}, seen = 0, half = ((long)now->width * now->height + 1) / 2;
	int d = -256;

	for (int y = 0; y < now->height; y++)
		for (int x = 0; x < now->width; x++)
			histogram[gray_at(now, x, y) - before_at(before, m, x, y) + 255]++;
	while (seen < half)
		seen += histogram[++d + 255];
	return d;
}

static double total_difference(const struct gray *before, const struct gray *now, const struct match *m)
{
	double sum = 0;

	for (int y = MOTION_SHAKE_MAX; y < now->height - MOTION_SHAKE_MAX; y++)
		for (int x = MOTION_SHAKE_MAX; x < now->width - MOTION_SHAKE_MAX; x++)
			sum += fabs(difference(before, now, m, x, y));
	return sum;
}

/* Wind on a pole: a small shift is taken only when it explains clearly more than no shift. */
static struct match take_out_shake(const struct gray *before, const struct gray *now)
{
	struct match still = {.gain = 1}, best;
	double least;

	still.offset = median_difference(before, now, &still);
	best = still;
	least = 0.7 * total_difference(before, now, &still);
	for (int dy = -MOTION_SHAKE_MAX; dy <= MOTION_SHAKE_MAX; dy++) {
		for (int dx = -MOTION_SHAKE_MAX; dx <= MOTION_SHAKE_MAX; dx++) {
			struct match m = {dx, dy, 1, still.offset};
			double d = total_difference(before, now, &m);

			if (d < least) {
				least = d;
				best = m;
			}
		}
	}
	return best;
}

/* The straight line through all pairs of pixels: how a cloud or the camera's exposure changes a picture. */
static struct match fit_light(const struct gray *before, const struct gray *now, struct match m)
{
	double n = (double)now->width * now->height, sb = 0, sn = 0, sbb = 0, sbn = 0, spread;

	for (int y = 0; y < now->height; y++) {
		for (int x = 0; x < now->width; x++) {
			double b = before_at(before, &m, x, y), c = gray_at(now, x, y);

			sb += b;
			sn += c;
			sbb += b * b;
			sbn += b * c;
		}
	}
	spread = n * sbb - sb * sb;
	m.gain = spread > 0 ? fmin(2, fmax(0.5, (n * sbn - sb * sn) / spread)) : 1;
	m.offset = (sn - m.gain * sb) / n;
	return m;
}

static void mark_changed(const struct gray *before, const struct gray *now, const struct match *m, struct grid *grid)
{
	grid->n_changed = 0;
	for (int row = 0; row < grid->rows; row++) {
		for (int col = 0; col < grid->cols; col++) {
			struct rect r = block_rect(grid, now, col, row);
			double sum = 0;

			for (int y = r.y1; y < r.y2; y++)
				for (int x = r.x1; x < r.x2; x++)
					sum += fabs(difference(before, now, m, x, y));
			grid->changed[row * grid->cols + col] =
			    sum > MOTION_BLOCK_DIFF * (double)((r.x2 - r.x1) * (r.y2 - r.y1));
			grid->n_changed += grid->changed[row * grid->cols + col];
		}
	}
}

/* Two explanations of a change in light; the one that leaves fewer blocks unexplained is taken. */
static struct match explain(const struct gray *before, const struct gray *now, struct grid *grid)
{
	struct match shift = take_out_shake(before, now), line = fit_light(before, now, shift);
	struct grid other = *grid;

	mark_changed(before, now, &shift, grid);
	mark_changed(before, now, &line, &other);
	if (other.n_changed >= grid->n_changed)
		return shift;
	*grid = other;
	return line;
}

/* Sums over one block: energy of the gradients of both pictures and their product. */
struct structure {
	double before, now, product;
};

static struct structure block_structure(
    const struct gray *before, const struct gray *now, const struct match *m, struct rect r)
{
	struct structure s = {0};

	for (int y = r.y1 > 0 ? r.y1 : 1; y < r.y2 && y < now->height - 1; y++) {
		for (int x = r.x1 > 0 ? r.x1 : 1; x < r.x2 && x < now->width - 1; x++) {
			int nx = gray_at(now, x + 1, y) - gray_at(now, x - 1, y);
			int ny = gray_at(now, x, y + 1) - gray_at(now, x, y - 1);
			int bx = before_at(before, m, x + 1, y) - before_at(before, m, x - 1, y);
			int by = before_at(before, m, x, y + 1) - before_at(before, m, x, y - 1);

			s.before += bx * bx + by * by;
			s.now += nx * nx + ny * ny;
			s.product += bx * nx + by * ny;
		}
	}
	return s;
}

/* Gradients, unlike pixels, do not care about light: their correlation tells whether a block shows the same thing. */
static void judge_structure(const struct gray *before, const struct gray *now, const struct match *m,
    const struct grid *grid, struct motion *ret)
{
	int textured = 0, textured_before = 0, textured_now = 0, different = 0, blocks = grid->cols * grid->rows;

	for (int i = 0; i < blocks; i++) {
		struct rect r = block_rect(grid, now, i % grid->cols, i / grid->cols);
		struct structure s = block_structure(before, now, m, r);
		double least = MOTION_TEXTURE * MOTION_TEXTURE * (double)((r.x2 - r.x1) * (r.y2 - r.y1));
		bool b = s.before >= least, n = s.now >= least;

		textured_before += b;
		textured_now += n;
		if (!b && !n)
			continue;
		textured++;
		different += !(b && n) || s.product < MOTION_SAME_STRUCTURE * sqrt(s.before * s.now);
	}
	ret->edge_change = textured > 0 ? (double)different / textured : 0;
	ret->moved = ret->edge_change >= MOTION_MOVED_EDGES && textured_before >= MOTION_MOVED_TEXTURE * blocks &&
		     textured_now >= MOTION_MOVED_TEXTURE * blocks;
	ret->light = ret->motion_ratio >= MOTION_LIGHT_RATIO && textured > 0 && ret->edge_change < MOTION_LIGHT_EDGES;
}

/* Takes the changed blocks connected with the one at start out of the grid; ret_members gets them. */
static int take_blob(struct grid *grid, int start, int ret_members[MOTION_BLOCKS_MAX])
{
	int n = 0;

	grid->changed[start] = false;
	ret_members[n++] = start;
	for (int i = 0; i < n; i++) {
		int col = ret_members[i] % grid->cols, row = ret_members[i] / grid->cols;

		for (int y = clamp(row - 1, 0, row); y <= clamp(row + 1, row, grid->rows - 1); y++) {
			for (int x = clamp(col - 1, 0, col); x <= clamp(col + 1, col, grid->cols - 1); x++) {
				if (!grid->changed[y * grid->cols + x])
					continue;
				grid->changed[y * grid->cols + x] = false;
				ret_members[n++] = y * grid->cols + x;
			}
		}
	}
	return n;
}

static void grow(struct motion_blob *b, int x, int y)
{
	b->x1 = x < b->x1 ? x : b->x1;
	b->y1 = y < b->y1 ? y : b->y1;
	b->x2 = x >= b->x2 ? x + 1 : b->x2;
	b->y2 = y >= b->y2 ? y + 1 : b->y2;
}

/* Blocks are coarse; the pixels that really differ give the shape. */
static struct motion_blob measure_blob(const struct gray *before, const struct gray *now, const struct match *m,
    const struct grid *grid, const int *members, int n)
{
	struct motion_blob tight = {now->width, now->height, 0, 0, n}, coarse = tight;

	for (int i = 0; i < n; i++) {
		struct rect r = block_rect(grid, now, members[i] % grid->cols, members[i] / grid->cols);

		grow(&coarse, r.x1, r.y1);
		grow(&coarse, r.x2 - 1, r.y2 - 1);
		for (int y = r.y1; y < r.y2; y++)
			for (int x = r.x1; x < r.x2; x++)
				if (fabs(difference(before, now, m, x, y)) > MOTION_PIXEL_DIFF)
					grow(&tight, x, y);
	}
	return tight.x2 > tight.x1 ? tight : coarse;
}

static void keep_blob(struct motion *ret, struct motion_blob blob)
{
	int at = ret->n_blobs;

	while (at > 0 && ret->blobs[at - 1].blocks < blob.blocks)
		at--;
	if (at == MOTION_BLOBS_MAX)
		return;
	if (ret->n_blobs < MOTION_BLOBS_MAX)
		ret->n_blobs++;
	memmove(ret->blobs + at + 1, ret->blobs + at, (size_t)(ret->n_blobs - 1 - at) * sizeof *ret->blobs);
	ret->blobs[at] = blob;
}

static void collect_blobs(
    const struct gray *before, const struct gray *now, const struct match *m, struct grid *grid, struct motion *ret)
{
	int members[MOTION_BLOCKS_MAX];

	for (int i = 0; i < grid->cols * grid->rows; i++) {
		int n;

		if (!grid->changed[i])
			continue;
		n = take_blob(grid, i, members);
		if (n >= MOTION_BLOB_BLOCKS)
			keep_blob(ret, measure_blob(before, now, m, grid, members, n));
	}
}

bool motion_compare(const struct gray *before, const struct gray *now, struct motion *ret)
{
	struct grid grid = {0};
	struct match m;

	*ret = (struct motion){0};
	if (before->width != now->width || before->height != now->height || now->width > MOTION_SIDE ||
	    now->height > MOTION_SIDE || now->width < MOTION_BLOCK || now->height < MOTION_BLOCK)
		return false;
	grid.cols = now->width / MOTION_BLOCK;
	grid.rows = now->height / MOTION_BLOCK;
	m = explain(before, now, &grid);
	ret->motion_ratio = (double)grid.n_changed / (grid.cols * grid.rows);
	judge_structure(before, now, &m, &grid, ret);
	if (!ret->moved && !ret->light)
		collect_blobs(before, now, &m, &grid, ret);
	return true;
}
