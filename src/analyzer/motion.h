/* SPDX-License-Identifier: Apache-2.0
 * What changed between two pictures of one camera: a part of the scene (motion), the view as a whole (the camera was
 * moved), or only the light. Pure functions, no I/O. */
#ifndef CAM_MOTION_H
#define CAM_MOTION_H

#include "analyzer/gray.h"

#include <stdbool.h>

enum {
	MOTION_SIDE = 160, /* longer side of the compared pictures; larger ones are refused */
	MOTION_BLOCK = 8,  /* pixels; pictures are compared block by block */
	MOTION_BLOCKS_MAX = (MOTION_SIDE / MOTION_BLOCK) * (MOTION_SIDE / MOTION_BLOCK),
	MOTION_BLOBS_MAX = 16,  /* the largest are kept */
	MOTION_SHAKE_MAX = 2,   /* pixels a camera may swing on its pole without having moved */
	MOTION_BLOB_BLOCKS = 2, /* fewer changed blocks together are noise */
	MOTION_BLOCK_DIFF = 12, /* mean difference that makes a block changed ... */
	MOTION_PIXEL_DIFF = 20, /* ... and that of a pixel which belongs to the thing that moved */
	MOTION_TEXTURE = 6,     /* gradient (root mean square) of a block that has structure to recognise */
};
#define MOTION_SAME_STRUCTURE 0.5 /* correlation of a block's gradients above which it shows the same thing */
#define MOTION_MOVED_EDGES 0.7    /* share of structured blocks that show something else: the camera moved ... */
#define MOTION_MOVED_TEXTURE 0.2  /* ... if at least this share of both pictures has structure */
#define MOTION_LIGHT_RATIO 0.6    /* this much changed, while ... */
#define MOTION_LIGHT_EDGES 0.3    /* ... less of the structure did: somebody switched the light */

/* In the picture's pixels; x2 and y2 are the first outside. */
struct motion_blob {
	int x1, y1, x2, y2;
	int blocks;
};

struct motion {
	double motion_ratio; /* share of blocks that changed, after light and shake are taken out */
	double edge_change;  /* share of structured blocks that show something else */
	bool moved;          /* the camera, not the scene */
	bool light;          /* only the light changed */
	struct motion_blob blobs[MOTION_BLOBS_MAX]; /* largest first; none when moved or light */
	int n_blobs;
};

/* False, with *ret all zero, when the pictures differ in size, or are larger than MOTION_SIDE or smaller than a
 * block. */
bool motion_compare(const struct gray *before, const struct gray *now, struct motion *ret);

#endif
