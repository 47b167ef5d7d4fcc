/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/deliver.h"

#include "common/ident.h"
#include "fcgi/range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char image_type[] = "image/jpeg";

static void quote(const char *etag, char ret[UUID_TEXT_LEN + 3])
{
	snprintf(ret, UUID_TEXT_LEN + 3, "\"%s\"", etag);
}

bool deliver_known(const struct request *r, const char *etag)
{
	const char *header = request_var(r, "HTTP_IF_NONE_MATCH");
	char quoted[UUID_TEXT_LEN + 3];

	if (header == NULL)
		return false;
	quote(etag, quoted);
	return strcmp(header, "*") == 0 || strstr(header, quoted) != NULL;
}

/* A part is of use only to whoever has the rest of this very image. No times are sent, so a time never fits. */
static bool part_fits(const struct request *r, const char *etag)
{
	const char *header = request_var(r, "HTTP_IF_RANGE");
	char quoted[UUID_TEXT_LEN + 3];

	quote(etag, quoted);
	return header == NULL || strcmp(header, quoted) == 0;
}

/* What of len bytes is asked for. Fills in the answer if that is none of them. */
static enum range_kind asked(
    const struct request *r, struct answer *a, const char *etag, size_t len, size_t *ret_first, size_t *ret_last)
{
	enum range_kind kind = RANGE_ALL;
	char text[48];

	if (strcmp(r->method, "GET") == 0 && part_fits(r, etag))
		kind = range_parse(request_var(r, "HTTP_RANGE"), len, ret_first, ret_last);
	if (kind == RANGE_NONE) {
		snprintf(text, sizeof text, "bytes */%zu", len);
		answer_error(a, "RANGE_NOT_SATISFIABLE");
		answer_header(a, "Content-Range", text);
	}
	answer_etag(a, etag);
	answer_header(a, "Accept-Ranges", "bytes");
	return kind;
}

void deliver_bytes(const struct request *r, struct answer *a, const char *etag, char *bytes, size_t len)
{
	size_t first = 0, last = 0;
	char text[80];

	switch (asked(r, a, etag, len, &first, &last)) {
	case RANGE_ALL:
		answer_bytes(a, 200, image_type, bytes, len);
		break;
	case RANGE_PART:
		snprintf(text, sizeof text, "bytes %zu-%zu/%zu", first, last, len);
		answer_header(a, "Content-Range", text);
		memmove(bytes, bytes + first, last - first + 1);
		answer_bytes(a, 206, image_type, bytes, last - first + 1);
		break;
	case RANGE_NONE:
		free(bytes);
		break;
	}
}

void deliver_file(const struct request *r, struct answer *a, const char *etag, const char *path, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-";
	size_t first, last;

	if (asked(r, a, etag, len, &first, &last) == RANGE_NONE)
		return;
	answer_empty(a, 200);
	answer_header(a, "Content-Type", image_type);
	/* Both web servers decode it; a line end in a configured directory would end the header otherwise. */
	buf_printf(&a->headers, "X-Sendfile: ");
	for (; *path != '\0'; path++)
		buf_printf(&a->headers, strchr(plain, *path) != NULL ? "%c" : "%%%02X", (unsigned char)*path);
	buf_printf(&a->headers, "\r\n");
}
