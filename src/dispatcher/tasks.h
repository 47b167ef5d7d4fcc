/* SPDX-License-Identifier: Apache-2.0
 * Work on files, done in threads of its own so that a slow disk never stalls the loop. */
#ifndef CAM_TASKS_H
#define CAM_TASKS_H

#include "common/err.h"

#include <stddef.h>

struct tasks;

/* Embedded in what it works on, which must stay where it is until done() is called. */
struct task {
	struct task *next;           /* the module's */
	void (*run)(struct task *);  /* in a thread; touches nothing but its own */
	void (*done)(struct task *); /* in the loop, from tasks_finish() */
};

/* NULL and *e on failure. */
struct tasks *tasks_new(struct err *e);
/* Waits for those under way; the others are forgotten, and no done() is called any more. */
void tasks_free(struct tasks *t);
/* Readable when something has ended. */
int tasks_fd(const struct tasks *t);
void tasks_submit(struct tasks *t, struct task *task);
/* Calls done() of those that have ended. */
void tasks_finish(struct tasks *t);

/* An image, read from the first of two places that has it. */
struct picture {
	struct task task;
	const char *path, *other_path; /* the caller's, until it is done; other_path may be NULL */
	size_t max;                    /* a larger file is an error */
	/* filled in: */
	char *data; /* malloc'ed, the caller's; NULL on failure */
	size_t len;
	int fault; /* errno; EFBIG for a file larger than max, ENODATA for an empty one */
};

void picture_read(struct tasks *t, struct picture *p, void (*done)(struct task *));

#endif
