/* SPDX-License-Identifier: Apache-2.0
 * One request at a time may put a frame of a given uuid into the spool and tell the database. Otherwise the request
 * that is refused could take away the file that a second one with the same uuid, just accepted, relies on. */
#ifndef CAM_FRAME_LOCK_H
#define CAM_FRAME_LOCK_H

#include "common/err.h"

/* Waits for its turn; others hold it for one database call at most. Every host that shares the spool takes part, and a
 * process that dies gives its lock up. Returns a descriptor for frame_unlock(), or -1 and *e. */
int frame_lock(const char *spool_dir, const char *frame_uuid, struct err *e);
void frame_unlock(int fd);

#endif
