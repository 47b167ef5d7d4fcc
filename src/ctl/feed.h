/* SPDX-License-Identifier: Apache-2.0
 * Handing in a frame as the web front does: image into the spool, then the row that names it. */
#ifndef CAM_FEED_H
#define CAM_FEED_H

#include "common/err.h"
#include "ctl/ctl.h"

#include <stddef.h>

struct frame {
	const char *camera_id;
	const char *captured_at; /* NULL: now */
	double later_sec;        /* and so much later */
	int priority;
	const void *jpeg;
	size_t len;
};

enum feed_status {
	FEED_ACCEPTED,
	FEED_QUEUE_FULL, /* try again after *ret_retry_sec */
	FEED_NO_CAMERA,  /* unknown or disabled */
	FEED_REFUSED,    /* this frame will never be accepted */
	FEED_DB_DOWN,
	FEED_FAILED, /* the spool or the database is not as it should be; the next frame will fare no better */
};

/* Makes the spool's directory if it is missing. */
int feed_prepare(struct ctl *ctl, struct err *e);
/* What is not accepted leaves nothing in the spool, unless the connection broke while the database had the row: then
 * nobody knows whether the image is needed, and the janitor decides. ret_retry_sec is set with FEED_QUEUE_FULL only. */
enum feed_status feed_frame(struct ctl *ctl, const struct frame *frame, int *ret_retry_sec, struct err *e);

#endif
