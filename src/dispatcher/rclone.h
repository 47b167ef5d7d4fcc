/* SPDX-License-Identifier: Apache-2.0
 * Calls of rclone's remote control (rclone rcd --rc-serve): files below RCLONE_REMOTE. */
#ifndef CAM_RCLONE_H
#define CAM_RCLONE_H

#include "common/crypto.h"
#include "common/http.h"
#include "dispatcher/dispatcher.h"

enum { RCLONE_SHA256, RCLONE_SHA1, RCLONE_MD5, RCLONE_HASHES };
extern const char *const rclone_hashes[RCLONE_HASHES];

/* RCLONE_MAYBE: of the right size, and the remote keeps no checksum. */
enum rclone_match { RCLONE_ABSENT, RCLONE_SAME, RCLONE_DIFFERS, RCLONE_MAYBE };

/* Each starts a call; NULL: out of memory. */
struct http_transfer *rclone_stat(struct dispatcher *d, const char *path, http_done *done, void *arg);
struct http_transfer *rclone_move(struct dispatcher *d, const char *from, const char *to, http_done *done, void *arg);
struct http_transfer *rclone_delete(struct dispatcher *d, const char *path, http_done *done, void *arg);
struct http_transfer *rclone_upload(struct dispatcher *d, const char *dir, const char *name, const char *data,
    size_t len, long timeout_ms, http_done *done, void *arg);
struct http_transfer *rclone_get(struct dispatcher *d, const char *path, size_t max, http_done *done, void *arg);

/* What rclone_stat() answered, against the size (NULL: not known) and the checksums ("": not known). */
enum rclone_match rclone_compare(
    const struct http_answer *a, const size_t *bytes, char sums[RCLONE_HASHES][DIGEST_HEX_MAX + 1]);
/* The size that it answered. */
size_t rclone_size(const struct http_answer *a);
/* It was rclone that said that there is no such file; any web server answers 404. */
bool rclone_is_absent(const struct http_answer *a);
/* Why a call failed, in rclone's words if it had any. */
void rclone_fault(const struct http_answer *a, char *ret, size_t size);

#endif
