/* SPDX-License-Identifier: Apache-2.0
 * Images of frames, out of the spool. */
#ifndef CAM_IMAGE_H
#define CAM_IMAGE_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

/* 1 with the file's bytes, which the caller frees; 0 if there is no such file; -1 and *e for any other fault. */
int image_read(const char *spool_dir, const char *frame_uuid, char **ret, size_t *ret_len, struct err *e);
/* Whether the file is there and holds exactly these bytes. */
bool image_is(const char *spool_dir, const char *frame_uuid, const char *data, size_t len);
/* What lies there can be read and is no JPEG file from its beginning to its end: what a crash of the machine left of
 * one. */
bool image_is_broken(const char *spool_dir, const char *frame_uuid);
bool image_exists(const char *spool_dir, const char *frame_uuid);

#endif
