/* SPDX-License-Identifier: Apache-2.0
 * Jobs of the kind archive: a frame's image is copied, or moved, to where it belongs in the archive, and its checksum
 * verified there. The name is fixed by the frame: a retry finds what an earlier attempt left. */
#ifndef CAM_ARCHIVE_H
#define CAM_ARCHIVE_H

#include "common/crypto.h"
#include "dispatcher/job.h"

enum { ARCHIVE_PATH_MAX = 512 };

void archive_begin(struct job *j);

/* For the drivers: it lies at the job's target. */
void archive_stored(struct job *j, const char *sha256, size_t bytes);
/* This attempt failed; the archive is left alone for a while, unless the fault is the job's own. */
void archive_failed(struct job *j, const char *error);

/* The drivers. */
void archive_dir_begin(struct job *j);
void archive_rclone_begin(struct job *j);

#endif
