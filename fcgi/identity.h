/* SPDX-License-Identifier: Apache-2.0
 * Who a request says it comes from. Whether that is so, and what they may do, the database decides
 * (caller_identify) in the request's own statement. */
#ifndef CAM_IDENTITY_H
#define CAM_IDENTITY_H

#include "common/crypto.h"
#include "fcgi/answer.h"
#include "fcgi/request.h"

#include <stdbool.h>

enum { SESSION_HEX_LEN = 32, REMOTE_USER_MAX = 120 };

struct identity {
	char token[SHA256_HEX_LEN + 3];    /* "\x" and the hash of the bearer token, or "" */
	const char *remote_user;           /* or NULL */
	char session[SESSION_HEX_LEN + 1]; /* hash of the session cookie, or "" */
	bool returning;                    /* not a browser that is given its cookie just now */
};

/* A viewer without any sign-in gets a session cookie in the answer where anonymous viewers are allowed.
 * NULL, or the error code: UNAUTHORIZED for credentials that cannot be right, CROSS_SITE for a write that another
 * site's page makes with this browser's cookie or sign-in. */
const char *identity_read(
    struct identity *id, const struct request *r, struct answer *a, bool may_be_anonymous, const char *cookie_path);

#endif
