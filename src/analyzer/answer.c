/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/answer.h"

#include "common/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { LINGER_MS = 1000, FILLER_BLOCK = 16 * 1024 };

static enum MHD_Result queue(struct request *r, unsigned status, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	if (status == MHD_HTTP_TOO_MANY_REQUESTS && r->rule == NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, r->allow);
	request_end(r, status);
	result = MHD_queue_response(r->connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result answer_text(struct request *r, unsigned status, char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);

	if (response == NULL)
		free(text);
	else
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	return queue(r, status, response);
}

enum MHD_Result answer_json(struct request *r, unsigned status, struct json_object *obj)
{
	const char *text = NULL;
	char *copy = NULL;

	if (obj != NULL)
		text = json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text != NULL)
		copy = strdup(text);
	json_object_put(obj);
	if (copy == NULL) {
		status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		copy = strdup("{\"error\":\"out_of_memory\"}");
	}
	return copy != NULL ? answer_text(r, status, copy) : MHD_NO;
}

enum MHD_Result answer_error(struct request *r, unsigned status, const char *code, const char *message)
{
	struct json_object *obj = json_object_new_object();

	json_object_object_add(obj, "error", json_object_new_string(code));
	json_object_object_add(obj, "message", json_object_new_string(message));
	return answer_json(r, status, obj);
}

/* body_bytes may be more than fits into memory. */
static ssize_t fill(void *cls, uint64_t pos, char *buf, size_t max)
{
	(void)cls;
	(void)pos;
	memset(buf, 'x', max);
	return (ssize_t)max;
}

enum MHD_Result answer_rule(struct request *r, const struct script_rule *rule)
{
	struct MHD_Response *response;

	if (rule->body_bytes >= 0)
		response =
		    MHD_create_response_from_callback((uint64_t)rule->body_bytes, FILLER_BLOCK, fill, NULL, NULL);
	else
		response = MHD_create_response_from_buffer(
		    rule->body_len, (void *)(uintptr_t)rule->body, MHD_RESPMEM_MUST_COPY);
	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, rule->content_type);
	for (size_t i = 0; i < rule->n_headers; i++)
		MHD_add_response_header(response, rule->headers[i].name, rule->headers[i].value);
	return queue(r, rule->status, response);
}

/* Closing while the client still sends would reset the connection, and the client would never read the answer. */
static void linger(int fd)
{
	char waste[FILLER_BLOCK];
	int64_t until = clock_ms() + LINGER_MS, left;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	shutdown(fd, SHUT_WR);
	while ((left = until - clock_ms()) > 0 && poll(&p, 1, (int)left) > 0)
		if (recv(fd, waste, sizeof waste, MSG_DONTWAIT) <= 0)
			return;
}

enum MHD_Result answer_cut_off(struct request *r, unsigned status, const char *code)
{
	char body[128], text[512];
	int fd = request_fd(r), body_len, len;

	request_unload(r);
	body_len = snprintf(body, sizeof body, "{\"error\":\"%s\",\"limit_bytes\":%zu}", code, r->body_max);
	len = snprintf(text, sizeof text,
	    "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
	    status, MHD_get_reason_phrase_for(status), body_len, body);
	request_end(r, status);
	if (send(fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) == len)
		linger(fd);
	return MHD_NO;
}
