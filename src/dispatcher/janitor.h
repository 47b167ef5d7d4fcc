/* SPDX-License-Identifier: Apache-2.0
 * Removes files that need not be kept: images from the spool, images from the archive, and files in the spool that no
 * frame names. The database says which; first the file goes, then the note is made, so that whoever dies in between
 * leaves the rest to the next one. */
#ifndef CAM_JANITOR_H
#define CAM_JANITOR_H

#include "dispatcher/dispatcher.h"

/* NULL: out of memory. */
struct janitor *janitor_new(void);
/* Not while a task of its may run: after tasks_free(). */
void janitor_free(struct janitor *n);
int64_t janitor_tick(struct dispatcher *d, int64_t now);

#endif
