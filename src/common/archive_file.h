/* SPDX-License-Identifier: Apache-2.0
 * Files of an archive directory. Paths are relative to its root, pass ident_is_path(), and never lead out
 * of it: no symbolic link below the root is followed. */
#ifndef CAM_ARCHIVE_FILE_H
#define CAM_ARCHIVE_FILE_H

#include "common/crypto.h"
#include "common/err.h"

#include <stddef.h>

/* Its checksum and size; -1 if it cannot be read. */
int archive_file_sum(const char *root, const char *path, char ret_sum[SHA256_HEX_LEN + 1], size_t *ret_bytes);
/* Written whole or not at all, durably; makes the directories that are missing. What was there is replaced. */
int archive_file_put(const char *root, const char *path, const void *data, size_t len, struct err *e);
/* Durably; that it is there already is success, that neither is there is not an error. Directories that become empty
 * go, here and with archive_file_remove(). */
int archive_file_move(const char *root, const char *from, const char *to, struct err *e);
/* A file that is not there is no error; a root that is not there is. */
int archive_file_remove(const char *root, const char *path, struct err *e);

#endif
