/* SPDX-License-Identifier: Apache-2.0
 * Whole files in memory, up to a stated size. */
#ifndef CAM_FILE_H
#define CAM_FILE_H

#include "common/err.h"

#include <stddef.h>

/* The bytes and a NUL after them; the caller frees them. NULL and *e if it cannot be read or is larger than max. */
char *file_read(const char *path, size_t max, size_t *ret_len, struct err *e);

#endif
