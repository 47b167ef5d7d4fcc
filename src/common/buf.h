/* SPDX-License-Identifier: Apache-2.0
 * A growing byte buffer with a stated maximum. Always NUL-terminated, so data is a C string too. */
#ifndef CAM_BUF_H
#define CAM_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* never NULL after buf_init() */
	size_t len;
	size_t cap;
	size_t max;
	bool failed; /* an append did not fit or memory ran out; what was there stays */
};

void buf_init(struct buf *b, size_t max);
void buf_free(struct buf *b);
/* Empties it; memory is kept for the next use unless it has grown past 64 KiB. */
void buf_reset(struct buf *b);
/* Both return 0, or -1 with b->failed set when the result would pass max. */
int buf_append(struct buf *b, const void *data, size_t len);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
