/* SPDX-License-Identifier: Apache-2.0
 * Whether bytes have the shape of a whole JPEG file. Cheap: markers are walked, nothing is decoded; what a decoder
 * would still object to is the inference node's to say. */
#ifndef CAM_JPEG_H
#define CAM_JPEG_H

#include "common/err.h"

#include <stddef.h>

struct jpeg_size {
	unsigned width, height;
};

/* -1 and *e for anything that is not a JPEG from its start to its end marker. ret may be NULL. */
int jpeg_check(const void *data, size_t len, struct jpeg_size *ret, struct err *e);

#endif
