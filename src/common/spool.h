/* SPDX-License-Identifier: Apache-2.0
 * The spool: a frame's image as SPOOL_DIR/infer/{frame_uuid}.jpg, there before the row that names it. Paths are built
 * from uuids only. */
#ifndef CAM_SPOOL_H
#define CAM_SPOOL_H

#include "common/err.h"
#include "common/ident.h"

#include <stdbool.h>
#include <stddef.h>

enum { SPOOL_PATH_MAX = 1024, FRAME_BYTES_MAX = 5000000 };

/* Makes SPOOL_DIR/infer if it is missing. */
int spool_prepare(const char *spool_dir, struct err *e);
/* Whole and on the disk, with its name, when this returns. Whole before it has its name, so that a program's end leaves no
 * half of a file under it; the machine's end may, but then no row names it. A file of that name stays as it is;
 * *ret_existed tells. */
int spool_write(
    const char *spool_dir, const char *frame_uuid, const void *data, size_t len, bool *ret_existed, struct err *e);
/* A file that is not there is no error. */
int spool_remove(const char *spool_dir, const char *frame_uuid, struct err *e);
/* -1 if the path would not fit or the uuid is none. */
int spool_path(const char *spool_dir, const char *frame_uuid, char *ret, size_t size);

#endif
