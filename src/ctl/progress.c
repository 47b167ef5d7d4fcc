/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/progress.h"

#include "common/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, REDRAW_MS = 100, PARTS_MIN = 3 };

void progress_begin(struct progress *p, int total)
{
	*p = (struct progress){.total = total, .began = clock_ms()};
}

double progress_sec(const struct progress *p)
{
	return (double)(clock_ms() - p->began) / 1000;
}

void progress_step(struct progress *p)
{
	static const char full[] = "##############################", empty[] = "..............................";
	int64_t now = clock_ms();
	int filled;

	p->done++;
	if (p->total < PARTS_MIN || now - p->drawn_at < REDRAW_MS || isatty(STDERR_FILENO) == 0)
		return;
	filled = (int)((int64_t)BAR_WIDTH * p->done / p->total);
	fprintf(stderr, "\r[%.*s%.*s] %d/%d, %.1f a second ", filled, full, BAR_WIDTH - filled, empty, p->done,
	    p->total, p->done / (progress_sec(p) + 0.001));
	p->drawn_at = now;
	p->shown = true;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
