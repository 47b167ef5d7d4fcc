/* SPDX-License-Identifier: Apache-2.0
 * Whole files in memory, up to a stated size. */
#ifndef CAM_FILE_H
#define CAM_FILE_H

#include "common/err.h"

#include <stddef.h>

/* The bytes and a NUL after them, which the caller frees. flags: further flags of open(2), such as O_NOFOLLOW.
 * Returns 0 or an errno: EFBIG for a file larger than max, EINVAL for one that is not a regular file. */
int file_read(const char *path, int flags, size_t max, char **ret, size_t *ret_len);
/* The same, saying in *e what is wrong with which file. NULL on failure. */
char *file_read_named(const char *path, size_t max, size_t *ret_len, struct err *e);
/* Opens dir/path for reading. path passes ident_is_path(), and no part of it may be a symbolic link: what is opened is
 * below dir, whoever wrote there. A descriptor that the caller closes, or -1 with errno. */
int file_open_below(const char *dir, const char *path);
/* file_read() of a file that is open already. */
int file_read_fd(int fd, size_t max, char **ret, size_t *ret_len);
/* -1 with errno if not all could be written. */
int file_write_all(int fd, const void *data, size_t len);

#endif
