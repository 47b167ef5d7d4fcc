/* SPDX-License-Identifier: Apache-2.0
 * Signed links to images: whoever has one sees that one frame until it expires, without signing in. The signature is
 * HMAC-SHA256 over the frame's uuid and the expiry. */
#ifndef CAM_MEDIA_H
#define CAM_MEDIA_H

#include "common/crypto.h"
#include "common/err.h"
#include "common/ident.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum {
	MEDIA_KEYS_VALID = 2, /* the newest signs, both verify: links outlive one rotation */
	MEDIA_KEY_MIN = 16,
	MEDIA_KEY_MAX = 256,
	MEDIA_LINK_MAX = 2300,
};

struct media_keys {
	char keys[MEDIA_KEYS_VALID][MEDIA_KEY_MAX + 1]; /* newest first */
	size_t n;
	/* the file that they were read from */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

enum media_verdict { MEDIA_VALID, MEDIA_FORGED, MEDIA_EXPIRED };

/* Reads the key file into *k unless it is the one that *k (zero at first) was read from already, so it may be called
 * for every request. A key is a line of MEDIA_KEY_MIN to MEDIA_KEY_MAX bytes, taken as it stands; lines after the first
 * MEDIA_KEYS_VALID count for nothing. On -1 there are no keys: what was revoked with the file stays revoked. */
int media_keys_load(struct media_keys *k, const char *path, struct err *e);
/* Writes a new key in front of the newest one that is there, or alone, and takes it into use at once. The file is
 * replaced in one step and keeps its owner; a new one has mode 0640. */
int media_keys_rotate(const char *path, bool drop_old, struct err *e);

/* With the newest key. -1 if there is none or the uuid is no uuid. */
int media_sign(const struct media_keys *k, const char *frame_uuid, int64_t exp, char ret_sig[SHA256_HEX_LEN + 1]);
/* exp and sig as they stand in the link. A link is expired only if it was a good one. */
enum media_verdict media_verify(
    const struct media_keys *k, const char *frame_uuid, const char *exp, const char *sig, time_t now);
/* PREFIX/media/frame/{uuid}?exp=&sig= where prefix is PUBLIC_URL, or the path below which camserver is mounted. */
int media_link(const struct media_keys *k, const char *prefix, const char *frame_uuid, int64_t exp,
    char ret[MEDIA_LINK_MAX], struct err *e);

#endif
