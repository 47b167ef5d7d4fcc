/* SPDX-License-Identifier: Apache-2.0 */
#include "common/http.h"

#include "common/buf.h"
#include "common/connections.h"
#include "common/ident.h"
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	IDLE_PER_HOST = 32,
	HOSTS = 8,
	IDLE_SEC = 90,
	CONNECT_MS = 5000,
	KEEPALIVE_SEC = 30,
	HANDLES_KEPT = 64,
	FORM_MAX = 8 * 1024 * 1024,
	RETRY_AFTER_MAX_SEC = 3600
};

struct http_transfer {
	struct http *http;
	struct http_transfer *prev, *next; /* of those under way, or next free */
	CURL *easy;
	struct http_owned owned;
	struct curl_slist *headers;
	struct buf answer;
	struct buf body; /* of a form */
	http_done *done;
	void (*piece)(void *arg, const char *data, size_t len);
	void *arg;
	char error[CURL_ERROR_SIZE];
};

struct http {
	CURLM *multi;
	struct http_transfer *active, *free;
	size_t n_free;
	const char *ca_file;
	struct metrics *metrics;
	char boundary[UUID_TEXT_LEN + 1]; /* between the parts of forms: in none of them, since nobody can guess it */
};

struct http *http_new(struct err *e)
{
	struct http *h = calloc(1, sizeof *h);

	if (h == NULL || (h->multi = curl_multi_init()) == NULL) {
		err_set(e, "out of memory");
		free(h);
		return NULL;
	}
	ident_new_uuid(h->boundary);
	curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_PER_HOST * HOSTS);
	return h;
}

void http_trust(struct http *h, const char *ca_file)
{
	h->ca_file = ca_file;
}

void http_meter(struct http *h, struct metrics *m)
{
	h->metrics = m;
}

CURLM *http_multi(struct http *h)
{
	return h->multi;
}

static void disown(struct http_transfer *t)
{
	curl_mime_free(t->owned.form);
	curl_slist_free_all(t->owned.headers);
	curl_slist_free_all(t->owned.recipients);
	curl_slist_free_all(t->headers);
	t->owned = (struct http_owned){0};
	t->headers = NULL;
	buf_free(&t->body);
}

static void transfer_free(struct http_transfer *t)
{
	curl_easy_cleanup(t->easy);
	disown(t);
	buf_free(&t->answer);
	free(t);
}

/* Out of the list of those under way; kept for the next use, unless there are plenty. */
static void retire(struct http_transfer *t)
{
	struct http *h = t->http;

	curl_multi_remove_handle(h->multi, t->easy);
	if (t->prev != NULL)
		t->prev->next = t->next;
	else
		h->active = t->next;
	if (t->next != NULL)
		t->next->prev = t->prev;
	curl_easy_reset(t->easy);
	disown(t);
	if (h->n_free >= HANDLES_KEPT) {
		transfer_free(t);
		return;
	}
	t->next = h->free;
	h->free = t;
	h->n_free++;
}

void http_free(struct http *h)
{
	if (h == NULL)
		return;
	while (h->active != NULL)
		retire(h->active);
	while (h->free != NULL) {
		struct http_transfer *t = h->free;

		h->free = t->next;
		transfer_free(t);
	}
	curl_multi_cleanup(h->multi);
	free(h);
}

static size_t take_answer(char *data, size_t size, size_t n, void *arg)
{
	struct http_transfer *t = arg;

	if (t->piece != NULL) {
		t->piece(t->arg, data, size * n);
		return size * n;
	}
	return buf_append(&t->answer, data, size * n) == 0 ? size * n : 0;
}

static int add_header(struct http_transfer *t, const char *line)
{
	struct curl_slist *longer = curl_slist_append(t->headers, line);

	if (longer == NULL)
		return -1;
	t->headers = longer;
	return 0;
}

static int add_headers(struct http_transfer *t, const char *const *lines)
{
	for (; lines != NULL && *lines != NULL; lines++)
		if (add_header(t, *lines) < 0)
			return -1;
	return 0;
}

static int add_part(struct buf *out, const char *boundary, const struct http_part *p)
{
	const char *name = p->file_name != NULL ? p->file_name : "";

	if (strpbrk(name, "\"\r\n") != NULL)
		return -1;
	buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"", boundary, p->name);
	if (p->text != NULL)
		buf_printf(out, "\r\n\r\n%s\r\n", p->text);
	else
		buf_printf(out, "; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n", name, p->type);
	if (p->text == NULL && (buf_append(out, p->data, p->len) < 0 || buf_append(out, "\r\n", 2) < 0))
		return -1;
	return 0;
}

/* In one piece, which goes out with the request's head in one call where curl's mime reader needs several. */
static int add_form(struct http_transfer *t, const struct http_part *parts)
{
	char type[96];

	for (const struct http_part *p = parts; p->name != NULL; p++)
		if (add_part(&t->body, t->http->boundary, p) < 0)
			return -1;
	buf_printf(&t->body, "--%s--\r\n", t->http->boundary);
	if (t->body.failed)
		return -1;
	snprintf(type, sizeof type, "Content-Type: multipart/form-data; boundary=%s", t->http->boundary);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body.len);
	curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->body.data);
	return add_header(t, type);
}

static void set_options(struct http_transfer *t, const struct http_request *r)
{
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->easy, CURLOPT_URL, r->url);
	curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, r->timeout_ms);
	curl_easy_setopt(t->easy, CURLOPT_MAXAGE_CONN, (long)IDLE_SEC);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_SEC);
	curl_easy_setopt(t->easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_SEC);
	curl_easy_setopt(t->easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "camserver/" PACKAGE_VERSION);
	if (t->http->ca_file != NULL && *t->http->ca_file != '\0')
		curl_easy_setopt(t->easy, CURLOPT_CAINFO, t->http->ca_file);
	connections_count(t->easy, t->http->metrics);
	if (r->method != NULL)
		curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, r->method);
	if (r->user != NULL) {
		curl_easy_setopt(t->easy, CURLOPT_USERNAME, r->user);
		curl_easy_setopt(t->easy, CURLOPT_PASSWORD, r->password != NULL ? r->password : "");
	}
	if (r->http2)
		curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	if (r->unix_socket != NULL)
		curl_easy_setopt(t->easy, CURLOPT_UNIX_SOCKET_PATH, r->unix_socket);
	/* In an environment with a proxy configured, nodes are still reached directly. */
	curl_easy_setopt(t->easy, CURLOPT_PROXY, "");
}

static struct http_transfer *transfer_get(struct http *h)
{
	struct http_transfer *t = h->free;

	if (t != NULL) {
		h->free = t->next;
		h->n_free--;
	} else {
		t = calloc(1, sizeof *t);
		if (t == NULL || (t->easy = curl_easy_init()) == NULL) {
			free(t);
			return NULL;
		}
		t->http = h;
		buf_init(&t->answer, 0);
		buf_init(&t->body, FORM_MAX);
	}
	return t;
}

/* Body and headers. */
static int add_content(struct http_transfer *t, const struct http_request *r)
{
	/* No waiting for "100 Continue": nodes take the image or close. */
	if (r->form != NULL && (add_form(t, r->form) < 0 || add_header(t, "Expect:") < 0))
		return -1;
	if (r->json != NULL && (curl_easy_setopt(t->easy, CURLOPT_COPYPOSTFIELDS, r->json) != CURLE_OK ||
				   add_header(t, "Content-Type: application/json") < 0 || add_header(t, "Expect:") < 0))
		return -1;
	if (add_headers(t, r->headers) < 0 || curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers) != CURLE_OK)
		return -1;
	return r->setup != NULL ? r->setup(t->easy, r->setup_arg, &t->owned) : 0;
}

struct http_transfer *http_start(struct http *h, const struct http_request *r, http_done *done, void *arg)
{
	struct http_transfer *t = transfer_get(h);

	if (t == NULL)
		return NULL;
	t->done = done;
	t->piece = r->piece;
	t->arg = arg;
	t->error[0] = '\0';
	buf_reset(&t->answer);
	t->answer.max = r->answer_max;
	set_options(t, r);
	t->prev = NULL;
	t->next = h->active;
	if (h->active != NULL)
		h->active->prev = t;
	h->active = t;
	if (add_content(t, r) < 0 || curl_multi_add_handle(h->multi, t->easy) != CURLM_OK) {
		retire(t);
		return NULL;
	}
	return t;
}

void http_cancel(struct http_transfer *t)
{
	if (t != NULL)
		retire(t);
}

/* In curl's words, with the status that the server had come to: all that a refused mail is told by. */
static void describe(const struct http_transfer *t, CURLcode code, char *ret, size_t size)
{
	const char *words = t->answer.failed      ? "the answer is larger than allowed"
			    : t->error[0] != '\0' ? t->error
						  : curl_easy_strerror(code);
	long said = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &said);
	if (said != 0)
		snprintf(ret, size, "%.180s (the server said %ld)", words, said);
	else
		snprintf(ret, size, "%s", words);
}

static void finish(struct http_transfer *t, CURLcode code)
{
	struct http_answer a = {.body = t->answer.data, .len = t->answer.len, .connected = 1};
	curl_off_t retry = 0;
	http_done *done = t->done;
	void *arg = t->arg;

	curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &a.new_connections);
	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry);
	a.retry_after_sec = (long)(retry < RETRY_AFTER_MAX_SEC ? retry : RETRY_AFTER_MAX_SEC);
	if (code == CURLE_OK) {
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &a.status);
	} else {
		long port = 0;

		curl_easy_getinfo(t->easy, CURLINFO_LOCAL_PORT, &port);
		a.connected = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST && port != 0;
		describe(t, code, a.fault, sizeof a.fault);
	}
	done(arg, &a);
	retire(t);
}

void http_step(struct http *h)
{
	CURLMsg *message;
	int left, running;

	curl_multi_perform(h->multi, &running);
	while ((message = curl_multi_info_read(h->multi, &left)) != NULL) {
		struct http_transfer *t = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		finish(t, message->data.result);
	}
}
