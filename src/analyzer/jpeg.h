/* SPDX-License-Identifier: Apache-2.0
 * From JPEG bytes to a small gray image. */
#ifndef CAM_JPEG_H
#define CAM_JPEG_H

#include "analyzer/gray.h"
#include "common/err.h"

#include <stddef.h>

/* A small file can claim a huge picture; a progressive one needs memory for all of it at once. */
enum { JPEG_PIXELS_MAX = 36 * 1000 * 1000 };

struct jpeg_image {
	int width, height; /* as the camera sent it */
	struct gray *gray; /* longer side at most what was asked for */
};

/* Decodes at reduced size. Anything the decoder only warns about (an early end, broken entropy data) is an error
 * too: a half-gray picture must not be judged. -1 and *e on any fault, with *ret untouched. gray_free(ret->gray). */
int jpeg_decode(const void *data, size_t len, int max_side, struct jpeg_image *ret, struct err *e);

#endif
