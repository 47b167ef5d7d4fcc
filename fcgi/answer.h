/* SPDX-License-Identifier: Apache-2.0
 * The answer to one request, filled by a handler and sent once. */
#ifndef CAM_ANSWER_H
#define CAM_ANSWER_H

#include "common/buf.h"

#include <fcgiapp.h>
#include <json-c/json.h>
#include <stdbool.h>

enum { ANSWER_HEADERS_MAX = 8 * 1024 };

struct answer {
	int status;
	struct json_object *json; /* owned; the body, or */
	char *bytes;              /* owned; this one, of the media type below; or neither */
	size_t bytes_len;
	bool borrowed; /* no, they are somebody else's */
	const char *bytes_type;
	struct buf headers;        /* further header lines */
	const char *cache_control; /* "no-store" unless answer_etag() is called */
	int retry_after;           /* seconds; 0: no header */
	bool english;
	bool sent; /* the handler has written it itself; nothing more is sent */
};

void answer_init(struct answer *a, bool english);
void answer_free(struct answer *a);
/* Takes over json. */
void answer_json(struct answer *a, int status, struct json_object *json);
/* Takes over bytes, which are malloc()ed. type must live on. */
void answer_bytes(struct answer *a, int status, const char *type, char *bytes, size_t len);
/* JSON that is text already and stays where it is until the answer is sent. */
void answer_borrowed(struct answer *a, int status, const char *text, size_t len);
/* The text of an answer made of JSON. Lives as long as the answer's JSON does. */
const char *answer_json_text(const struct answer *a, size_t *ret_len);
/* No body at all, as 304 wants it. */
void answer_empty(struct answer *a, int status);
/* The client may keep the body under this tag (without quotes), asking each time whether it is still the one. */
void answer_etag(struct answer *a, const char *etag);
/* {"error_code", "message"} with the code's status. */
void answer_error(struct answer *a, const char *code);
/* The same with a "detail" that says what exactly is wrong, and the numbers of a refusal: every member of facts
 * except "outcome" is added; its retry_after becomes the header too. Both may be NULL; facts stays the caller's. */
void answer_error_with(struct answer *a, const char *code, const char *detail, struct json_object *facts);
void answer_header(struct answer *a, const char *name, const char *value);
/* Writes status, headers and, unless head, the body. */
void answer_send(struct answer *a, FCGX_Stream *out, bool head);

#endif
