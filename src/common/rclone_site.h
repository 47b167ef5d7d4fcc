/* SPDX-License-Identifier: Apache-2.0
 * Where rclone's remote control is, and what opens it: RCLONE_URL, RCLONE_REMOTE, RCLONE_PASSWORD_FILE. */
#ifndef CAM_RCLONE_SITE_H
#define CAM_RCLONE_SITE_H

#include "common/buf.h"
#include "common/conf.h"

enum { RCLONE_URL_MAX = 8192 };

/* The address of a command, such as operations/stat. -1: too long. */
int rclone_command_url(const struct conf *conf, const char *command, struct buf *url);
/* The address of a file below the remote (rclone rcd --rc-serve). -1: there is no remote, or it is too long. */
int rclone_file_url(const struct conf *conf, const char *path, struct buf *url);
/* The password, which is the file's first line, to be freed; "" if there is none. NULL and *e if it cannot be read. */
char *rclone_password(const struct conf *conf, struct err *e);

#endif
