/* SPDX-License-Identifier: Apache-2.0
 * Reads images from the spool in a thread of its own, so that a slow disk never stalls the loop. */
#ifndef CAM_READER_H
#define CAM_READER_H

#include "common/err.h"

#include <stddef.h>

struct reader;

struct reader_request {
	struct reader_request *next; /* the reader's */
	const char *path;            /* the caller's, until it is back */
	size_t max;                  /* a larger file is an error */
	/* filled in: */
	char *data; /* malloc'ed, the caller's; NULL on failure */
	size_t len;
	int fault; /* errno; EFBIG for a file larger than max, ENODATA for an empty one */
};

/* NULL and *e on failure. */
struct reader *reader_new(struct err *e);
/* Waits for the read under way; requests not yet taken back are forgotten, their data freed. */
void reader_free(struct reader *r);
/* Readable when something is ready. */
int reader_fd(const struct reader *r);
void reader_submit(struct reader *r, struct reader_request *request);
/* The next finished one, or NULL. */
struct reader_request *reader_take(struct reader *r);

#endif
