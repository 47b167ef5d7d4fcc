/* SPDX-License-Identifier: Apache-2.0
 * A notification as a mail: plain text and HTML with the picture inline, over SMTP with STARTTLS where the server
 * offers it. */
#ifndef CAM_MAIL_H
#define CAM_MAIL_H

#include "common/http.h"

#include <json-c/json.h>

struct mail {
	const char *from, *subject, *text, *html;
	struct json_object *to; /* addresses */
	const char *message_id; /* the same for every attempt, so that a second copy can be told */
	const void *picture;    /* JPEG; NULL: none */
	size_t picture_len;
};

/* The setup() of a request to smtp:// or smtps://; arg is the struct mail, which it copies. */
int mail_setup(CURL *easy, void *arg, struct http_owned *owned);
/* The subject as header text: encoded words if it is not ASCII; malloc'ed, NULL: out of memory. */
char *mail_encode_subject(const char *subject);

#endif
