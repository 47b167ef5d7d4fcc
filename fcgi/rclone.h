/* SPDX-License-Identifier: Apache-2.0
 * Objects of an archive behind rclone, read through its remote control (rclone rcd --rc-serve). */
#ifndef CAM_RCLONE_H
#define CAM_RCLONE_H

#include "common/conf.h"

#include <stddef.h>

struct rclone;

/* Its connection is kept. NULL: out of memory. */
struct rclone *rclone_new(void);
void rclone_free(struct rclone *rc);
/* 1 with the object's bytes, which the caller frees; 0 if there is no such object; -1 and *e for any other fault, such
 * as no answer in time. path passes ident_is_path(). */
int rclone_get(
    struct rclone *rc, const struct conf *conf, const char *path, char **ret, size_t *ret_len, struct err *e);

#endif
