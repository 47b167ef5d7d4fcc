/* SPDX-License-Identifier: Apache-2.0
 * Removes files that need not be kept: images from the spool, images from the archive, and files in the spool that are
 * no frame's image. The database says which, and they are gone with that; then the file is deleted. Whoever dies in
 * between leaves the rest to the next one: of the archive as rows that linger, of the spool as files that are
 * nobody's. */
#ifndef CAM_JANITOR_H
#define CAM_JANITOR_H

#include "dispatcher/dispatcher.h"

/* NULL: out of memory. */
struct janitor *janitor_new(void);
/* Not while a task of its may run: after tasks_free(). */
void janitor_free(struct janitor *n);
int64_t janitor_tick(struct dispatcher *d, int64_t now);

#endif
