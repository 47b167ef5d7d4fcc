/* SPDX-License-Identifier: Apache-2.0
 * What a notification says, made from the facts that the claim brought. No I/O. Tags that must not be told are not
 * among the facts. */
#ifndef CAM_MESSAGE_H
#define CAM_MESSAGE_H

#include "common/buf.h"

#include <json-c/json.h>
#include <stdbool.h>

enum { MESSAGE_TITLE_MAX = 300, MESSAGE_TEXT_MAX = 64 * 1024 };

struct message {
	char title[MESSAGE_TITLE_MAX];
	struct buf text;  /* lines */
	const char *link; /* to the picture; NULL: none. The caller's. */
};

/* message_free() is needed afterwards. */
void message_make(struct message *m, struct json_object *facts, const char *link);
void message_free(struct message *m);

/* The bodies of the channels; the caller puts them back. */
struct json_object *message_webhook(const struct message *m, struct json_object *facts);
struct json_object *message_slack(const struct message *m);
/* The text as HTML with the picture inline (cid:frame) if has_picture; malloc'ed, NULL: out of memory. */
char *message_html(const struct message *m, bool has_picture);

#endif
