/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/answer.h"

#include "fcgi/errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_LINES_MAX = 128, RETRY_LINE_MAX = 32, HEAD_LINES_MAX = 384 };

static const char json_media_type[] = "application/json; charset=utf-8";

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {206, "Partial Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

static const char *phrase(int status)
{
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Status";
}

void answer_init(struct answer *a, bool english)
{
	*a = (struct answer){.status = 500, .english = english, .cache_control = "no-store"};
	buf_init(&a->headers, ANSWER_HEADERS_MAX);
}

void answer_free(struct answer *a)
{
	answer_empty(a, 0);
	buf_free(&a->headers);
}

void answer_empty(struct answer *a, int status)
{
	json_object_put(a->json);
	a->json = NULL;
	if (!a->borrowed)
		free(a->bytes);
	a->bytes = NULL;
	a->borrowed = false;
	a->status = status;
}

void answer_json(struct answer *a, int status, struct json_object *json)
{
	answer_empty(a, status);
	a->json = json;
}

void answer_bytes(struct answer *a, int status, const char *type, char *bytes, size_t len)
{
	answer_empty(a, status);
	a->bytes = bytes;
	a->bytes_len = len;
	a->bytes_type = type;
}

void answer_borrowed(struct answer *a, int status, const char *text, size_t len)
{
	answer_bytes(a, status, json_media_type, (char *)text, len);
	a->borrowed = true;
}

const char *answer_json_text(const struct answer *a, size_t *ret_len)
{
	return json_object_to_json_string_length(
	    a->json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, ret_len);
}

void answer_etag(struct answer *a, const char *etag)
{
	buf_printf(&a->headers, "ETag: \"%s\"\r\n", etag);
	a->cache_control = "private, no-cache";
}

void answer_error(struct answer *a, const char *code)
{
	answer_error_with(a, code, NULL, NULL);
}

void answer_error_with(struct answer *a, const char *code, const char *detail, struct json_object *facts)
{
	const struct error_def *def = error_find(code);
	struct json_object *json = json_object_new_object();

	json_object_object_add(json, "error_code", json_object_new_string(def->code));
	json_object_object_add(json, "message", json_object_new_string(a->english ? def->en : def->ja));
	if (detail != NULL)
		json_object_object_add(json, "detail", json_object_new_string(detail));
	a->retry_after = def->retry_after;
	if (facts != NULL) {
		json_object_object_foreach(facts, name, value)
		{
			if (strcmp(name, "outcome") == 0)
				continue;
			if (strcmp(name, "retry_after") == 0)
				a->retry_after = json_object_get_int(value);
			json_object_object_add(json, name, json_object_get(value));
		}
	}
	if (a->retry_after > 0 && !json_object_object_get_ex(json, "retry_after", NULL))
		json_object_object_add(json, "retry_after", json_object_new_int(a->retry_after));
	answer_json(a, def->status, json);
}

void answer_header(struct answer *a, const char *name, const char *value)
{
	buf_printf(&a->headers, "%s: %s\r\n", name, value);
}

/* The body and its media type; NULL for none. */
static const char *body_of(struct answer *a, const char **ret_type, size_t *ret_len)
{
	if (a->json != NULL) {
		*ret_type = json_media_type;
		return answer_json_text(a, ret_len);
	}
	*ret_type = a->bytes_type;
	*ret_len = a->bytes_len;
	return a->bytes;
}

void answer_send(struct answer *a, FCGX_Stream *out, bool head)
{
	char type_lines[TYPE_LINES_MAX] = "", retry_line[RETRY_LINE_MAX] = "", head_lines[HEAD_LINES_MAX];
	const char *type, *body;
	size_t len;
	int n;

	if (a->sent)
		return;
	body = body_of(a, &type, &len);
	if (body != NULL)
		snprintf(type_lines, sizeof type_lines, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, len);
	if (a->retry_after > 0)
		snprintf(retry_line, sizeof retry_line, "Retry-After: %d\r\n", a->retry_after);
	n = snprintf(head_lines, sizeof head_lines,
	    "Status: %d %s\r\n%sCache-Control: %s\r\nX-Content-Type-Options: nosniff\r\n%s", a->status,
	    phrase(a->status), type_lines, a->cache_control, retry_line);
	FCGX_PutStr(head_lines, n, out);
	FCGX_PutStr(a->headers.data, (int)a->headers.len, out);
	FCGX_PutS("\r\n", out);
	if (body != NULL && !head)
		FCGX_PutStr(body, (int)len, out);
}
