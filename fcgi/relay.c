/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/relay.h"

#include "common/buf.h"
#include "common/connections.h"
#include "config.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	IDLE_SEC = 90,
	CONNECT_MS = 5000,
	KEEPALIVE_SEC = 30,
	WAIT_MS = 1000,
	HEADERS_MAX = 16 * 1024,
	HELD_MAX = 256 * 1024,
	IDLE_PER_HOST = 32,
	SMALL_BODY = 16 * 1024,
};

/* curl takes and gives back such a buffer for each call; one as large as its own makes the heap tidy up every time. */
static const long SMALL_BUFFER = 16 * 1024, LARGE_BUFFER = 256 * 1024;

struct relay {
	CURLM *multi;
	CURL *easy;
	const _Atomic bool *stop;
	struct metrics *metrics;
	struct curl_slist *headers;
	struct buf answer_headers; /* of the upstream, those that are passed on */
	const struct relay_request *request;
	FCGX_Request *fcgi;
	struct buf held;
	bool holding, head_sent, unflushed, client_gone;
	char error[CURL_ERROR_SIZE];
};

/* What concerns the connection to the upstream stays there. */
static bool is_passed_on(const char *line, size_t len)
{
	static const char *const names[] = {
	    "content-type:", "content-length:", "content-encoding:", "retry-after:", "x-request-id:", "openai-"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (len >= strlen(names[i]) && strncasecmp(line, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static size_t take_header(char *line, size_t size, size_t n, void *arg)
{
	struct relay *r = arg;
	size_t len = size * n;

	if (len > 5 && strncmp(line, "HTTP/", 5) == 0)
		buf_reset(&r->answer_headers); /* of a 100 Continue or the like */
	else if (is_passed_on(line, len) && buf_append(&r->answer_headers, line, len) < 0)
		return 0;
	return len;
}

/* What has been written goes out; the end of the request would see to it, too. */
static void flush(struct relay *r)
{
	if (r->unflushed && FCGX_FFlush(r->fcgi->out) != 0)
		r->client_gone = true;
	r->unflushed = false;
}

static long status_of(struct relay *r)
{
	long status = 0;

	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static void send_head(struct relay *r)
{
	long status = status_of(r);

	r->head_sent = true;
	FCGX_FPrintF(r->fcgi->out, "Status: %d\r\n", (int)status);
	FCGX_PutS(
	    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Accel-Buffering: no\r\n", r->fcgi->out);
	FCGX_PutStr(r->answer_headers.data, (int)r->answer_headers.len, r->fcgi->out);
	FCGX_PutS(r->request->headers, r->fcgi->out);
	FCGX_PutS("\r\n", r->fcgi->out);
	r->unflushed = true;
}

static bool send_body(struct relay *r, const char *data, size_t len)
{
	if (FCGX_PutStr(data, (int)len, r->fcgi->out) != (int)len)
		r->client_gone = true;
	r->unflushed = true;
	return !r->client_gone;
}

static bool is_held(struct relay *r)
{
	long status = status_of(r);

	return r->request->hold && (status == 429 || status >= 500);
}

static size_t take_body(char *data, size_t size, size_t n, void *arg)
{
	struct relay *r = arg;
	size_t len = size * n;

	if (!r->head_sent && is_held(r)) {
		r->holding = true;
		return buf_append(&r->held, data, len) == 0 ? len : 0;
	}
	if (!r->head_sent)
		send_head(r);
	return send_body(r, data, len) ? len : 0;
}

void relay_send_held(struct relay *r)
{
	send_head(r);
	send_body(r, r->held.data, r->held.len);
}

/* What is the same for all calls. */
static void set_fixed_options(struct relay *r)
{
	curl_easy_setopt(r->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(r->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, r->error);
	curl_easy_setopt(r->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(r->easy, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(r->easy, CURLOPT_MAXAGE_CONN, (long)IDLE_SEC);
	curl_easy_setopt(r->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(r->easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_SEC);
	curl_easy_setopt(r->easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_SEC);
	curl_easy_setopt(r->easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(r->easy, CURLOPT_USERAGENT, "camserver/" PACKAGE_VERSION);
	/* In an environment with a proxy configured, upstreams are still reached directly. */
	curl_easy_setopt(r->easy, CURLOPT_PROXY, "");
	connections_count(r->easy, r->metrics);
}

struct relay *relay_new(const _Atomic bool *stop, struct metrics *metrics)
{
	struct relay *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->stop = stop;
	r->metrics = metrics;
	r->multi = curl_multi_init();
	r->easy = curl_easy_init();
	buf_init(&r->answer_headers, HEADERS_MAX);
	buf_init(&r->held, HELD_MAX);
	if (r->multi == NULL || r->easy == NULL) {
		relay_free(r);
		return NULL;
	}
	curl_multi_setopt(r->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_PER_HOST);
	set_fixed_options(r);
	return r;
}

void relay_free(struct relay *r)
{
	if (r == NULL)
		return;
	curl_easy_cleanup(r->easy);
	curl_multi_cleanup(r->multi);
	buf_free(&r->answer_headers);
	buf_free(&r->held);
	free(r);
}

static int add_header(struct relay *r, const char *name, const char *value)
{
	struct curl_slist *longer;
	char line[8192];

	if (snprintf(line, sizeof line, "%s%s", name, value) >= (int)sizeof line)
		return -1;
	longer = curl_slist_append(r->headers, line);
	if (longer == NULL)
		return -1;
	r->headers = longer;
	return 0;
}

static int set_options(struct relay *r, const struct relay_request *q)
{
	/* No waiting for "100 Continue". */
	if (add_header(r, "Expect:", "") < 0 || add_header(r, "Content-Type: ", q->type) < 0 ||
	    (*q->authorization != '\0' && add_header(r, q->authorization, "") < 0) ||
	    (q->accept != NULL && add_header(r, "Accept: ", q->accept) < 0))
		return -1;
	curl_easy_setopt(r->easy, CURLOPT_URL, q->url);
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDS, q->body);
	curl_easy_setopt(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
	curl_easy_setopt(r->easy, CURLOPT_UPLOAD_BUFFERSIZE, q->len > SMALL_BODY ? LARGE_BUFFER : SMALL_BUFFER);
	curl_easy_setopt(r->easy, CURLOPT_TIMEOUT_MS, q->timeout_ms);
	curl_easy_setopt(r->easy, CURLOPT_FRESH_CONNECT, q->fresh ? 1L : 0L);
	curl_easy_setopt(r->easy, CURLOPT_HTTP_VERSION,
	    q->http2 ? (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : (long)CURL_HTTP_VERSION_NONE);
	return 0;
}

static bool client_is_there(struct relay *r)
{
	struct pollfd p = {.fd = r->fcgi->ipcFd, .events = POLLRDHUP};

	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0)
		r->client_gone = true;
	return !r->client_gone;
}

/* Until the transfer has ended or must: the client's end of the connection is watched along with the upstream's, and
 * gets what there is before each wait. */
static CURLcode transfer(struct relay *r)
{
	struct curl_waitfd client = {.fd = r->fcgi->ipcFd, .events = CURL_WAIT_POLLIN};
	CURLcode code = CURLE_ABORTED_BY_CALLBACK;
	unsigned watched = 1;
	int running = 1, left, ready;
	CURLMsg *message;

	for (;;) {
		if (curl_multi_perform(r->multi, &running) != CURLM_OK)
			return CURLE_FAILED_INIT;
		if (running == 0)
			break;
		flush(r);
		client.revents = 0;
		if (r->client_gone || *r->stop ||
		    curl_multi_poll(r->multi, &client, watched, WAIT_MS, &ready) != CURLM_OK)
			return code;
		if ((client.revents != 0 || ready == 0) && !client_is_there(r))
			return code;
		if (client.revents != 0)
			watched =
			    0; /* it has said something that nobody asked for; its hanging up is seen now and then */
	}
	while ((message = curl_multi_info_read(r->multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE)
			code = message->data.result;
	return code;
}

static void take_result(struct relay *r, CURLcode code, struct relay_result *ret)
{
	curl_off_t retry = 0;
	long port = 0;

	*ret = (struct relay_result){.status = status_of(r)};
	curl_easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &retry);
	curl_easy_getinfo(r->easy, CURLINFO_LOCAL_PORT, &port);
	curl_easy_getinfo(r->easy, CURLINFO_NUM_CONNECTS, &ret->new_connections);
	ret->retry_after_sec = (long)retry;
	ret->reached = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST && port != 0;
	err_set(&ret->e, "%s", r->error[0] != '\0' ? r->error : curl_easy_strerror(code));
}

enum relay_end relay_run(
    struct relay *r, const struct relay_request *request, FCGX_Request *fcgi, struct relay_result *ret)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;

	r->request = request;
	r->fcgi = fcgi;
	r->head_sent = r->unflushed = r->client_gone = r->holding = false;
	r->error[0] = '\0';
	buf_reset(&r->answer_headers);
	buf_reset(&r->held);
	if (set_options(r, request) == 0 && curl_multi_add_handle(r->multi, r->easy) == CURLM_OK) {
		code = transfer(r);
		if (code == CURLE_OK && !r->head_sent && !r->holding) {
			r->holding = is_held(r);
			if (!r->holding)
				send_head(r);
		}
		curl_multi_remove_handle(r->multi, r->easy);
	}
	take_result(r, code, ret);
	curl_slist_free_all(r->headers);
	r->headers = NULL;
	if (r->client_gone)
		return RELAY_CLIENT_GONE;
	if (code == CURLE_OK)
		return r->holding ? RELAY_HELD : RELAY_DONE;
	if (r->head_sent)
		return RELAY_BROKEN;
	return code == CURLE_OPERATION_TIMEDOUT && ret->reached ? RELAY_TIMEOUT : RELAY_FAILED;
}
