/* SPDX-License-Identifier: Apache-2.0
 * An image as an answer: under a tag that lets the client keep it, whole or the part that it asks for. A frame's image
 * never changes, so its uuid is its tag, wherever the bytes come from. */
#ifndef CAM_DELIVER_H
#define CAM_DELIVER_H

#include "fcgi/answer.h"
#include "fcgi/request.h"

#include <stdbool.h>
#include <stddef.h>

/* If-None-Match names this tag, among others or by itself, weak or strong. */
bool deliver_known(const struct request *r, const char *etag);
/* 200, 206 or 416 by Range and If-Range. Takes over bytes, which are malloc()ed. */
void deliver_bytes(const struct request *r, struct answer *a, const char *etag, char *bytes, size_t len);
/* The web server sends the file of len bytes, whole or in part; 416 is said here, since lighttpd's does not tell len.
 */
void deliver_file(const struct request *r, struct answer *a, const char *etag, const char *path, size_t len);

#endif
