/* SPDX-License-Identifier: Apache-2.0
 * A bar on the terminal for work with many parts; silent where stderr is no terminal. */
#ifndef CAM_PROGRESS_H
#define CAM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	int total, done;
	int64_t began, drawn_at; /* clock_ms() */
	bool shown;
};

void progress_begin(struct progress *p, int total);
/* One more part is done. */
void progress_step(struct progress *p);
/* Takes the bar away, before a message or at the end; the next step draws it again. */
void progress_clear(struct progress *p);
/* Since the beginning. */
double progress_sec(const struct progress *p);

#endif
