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

void deliver_bytes(const struct request *r, struct answer *a, const char *etag, char *bytes, size_t len)
{
	bool get = strcmp(r->method, "GET") == 0;
	size_t first = 0, last = 0;
	char text[96];

	answer_etag(a, etag);
	answer_header(a, "Accept-Ranges", "bytes");
	switch (get && part_fits(r, etag) ? range_parse(request_var(r, "HTTP_RANGE"), len, &first, &last) : RANGE_ALL) {
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
		snprintf(text, sizeof text, "bytes */%zu", len);
		answer_error(a, "RANGE_NOT_SATISFIABLE");
		answer_header(a, "Content-Range", text);
		break;
	}
}

void deliver_file(struct answer *a, const char *etag, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-";

	answer_empty(a, 200);
	answer_etag(a, etag);
	answer_header(a, "Content-Type", image_type);
	/* Both web servers decode it; a line end in a configured directory would end the header otherwise. */
	buf_printf(&a->headers, "X-Sendfile: ");
	for (; *path != '\0'; path++)
		buf_printf(&a->headers, strchr(plain, *path) != NULL ? "%c" : "%%%02X", (unsigned char)*path);
	buf_printf(&a->headers, "\r\n");
}
