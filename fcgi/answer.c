/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/answer.h"

#include "fcgi/errors.h"

#include <string.h>

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
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
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
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
	*a = (struct answer){.status = 500, .english = english};
	buf_init(&a->headers, ANSWER_HEADERS_MAX);
}

void answer_free(struct answer *a)
{
	json_object_put(a->json);
	buf_free(&a->headers);
}

void answer_json(struct answer *a, int status, struct json_object *json)
{
	json_object_put(a->json);
	a->json = json;
	a->status = status;
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

void answer_send(struct answer *a, FCGX_Stream *out, bool head)
{
	size_t len = 0;
	const char *text = json_object_to_json_string_length(
	    a->json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);

	FCGX_FPrintF(out, "Status: %d %s\r\n", a->status, phrase(a->status));
	FCGX_FPrintF(out, "Content-Type: application/json; charset=utf-8\r\nContent-Length: %lu\r\n", (unsigned long)len);
	FCGX_PutS("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n", out);
	if (a->retry_after > 0)
		FCGX_FPrintF(out, "Retry-After: %d\r\n", a->retry_after);
	FCGX_PutStr(a->headers.data, (int)a->headers.len, out);
	FCGX_PutS("\r\n", out);
	if (!head)
		FCGX_PutStr(text, (int)len, out);
}
