/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/request.h"

#include "fcgi/percent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { READ_CHUNK = 16 * 1024 };

const char *request_var(const struct request *r, const char *name)
{
	const char *value = FCGX_GetParam(name, r->fcgi->envp);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* Decodes the path part of uri. */
static const char *decode_path(const char *uri, char *ret, size_t size)
{
	size_t len = 0;

	while (*uri != '\0' && *uri != '?' && *uri != '#') {
		int c = percent_next(&uri);

		if (c < 0)
			return "BAD_REQUEST";
		if (len + 1 >= size)
			return "URI_TOO_LONG";
		ret[len++] = (char)c;
	}
	ret[len] = '\0';
	return NULL;
}

const char *request_parse(struct request *r, FCGX_Request *fcgi, const char *url_prefix)
{
	size_t prefix = strlen(url_prefix);
	const char *uri, *fault;

	r->fcgi = fcgi;
	r->path[0] = '\0';
	r->method = request_var(r, "REQUEST_METHOD");
	uri = request_var(r, "REQUEST_URI");
	if (r->method == NULL || uri == NULL)
		return "BAD_REQUEST";
	fault = decode_path(uri, r->path, sizeof r->path);
	if (fault != NULL)
		return fault;
	if (strncmp(r->path, url_prefix, prefix) == 0 && r->path[prefix] == '/')
		memmove(r->path, r->path + prefix, strlen(r->path + prefix) + 1);
	return r->path[0] == '/' ? NULL : "BAD_REQUEST";
}

const char *request_read_body(struct request *r, size_t max)
{
	const char *header = request_var(r, "CONTENT_LENGTH");
	unsigned long long announced = header != NULL ? strtoull(header, NULL, 10) : 0;
	size_t total = 0;
	char chunk[READ_CHUNK];
	int n;

	while (total < REQUEST_DRAIN_MAX && (n = FCGX_GetStr(chunk, sizeof chunk, r->fcgi->in)) > 0) {
		if (total + (size_t)n <= max && buf_append(&r->body, chunk, (size_t)n) < 0)
			return "PAYLOAD_TOO_LARGE";
		total += (size_t)n;
	}
	if (total > max || announced > max)
		return "PAYLOAD_TOO_LARGE";
	return announced > total ? "BAD_REQUEST" : NULL;
}

bool request_is_type(const struct request *r, const char *type)
{
	const char *header = request_var(r, "CONTENT_TYPE");
	size_t len = strlen(type);

	return header != NULL && strncasecmp(header, type, len) == 0 && strchr("; \t", header[len]) != NULL;
}
