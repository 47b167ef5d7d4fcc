/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/server.h"

#include "analyzer/answer.h"
#include "analyzer/routes.h"
#include "common/clock.h"
#include "common/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	IDLE_SEC = 120,        /* longer than clients keep idle connections, so that they close first */
	REQUEST_IDLE_SEC = 10, /* without a byte inside a request */
	UPLOAD_MAX_MS = 30000, /* for a whole body: a slow sender holds a slot */
	CONNECTION_MEMORY = 64 * 1024,
	THREAD_STACK = 512 * 1024,
	STOP_MS = 3000,
};

struct server {
	struct analyzer *analyzer;
	struct MHD_Daemon *daemon;
};

/* Going through 0 makes the daemon count from now. */
static void set_timeout(struct request *r, unsigned sec)
{
	MHD_set_connection_option(r->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
	if (sec > 0)
		MHD_set_connection_option(r->connection, MHD_CONNECTION_OPTION_TIMEOUT, sec);
}

/* The slot is taken before the body comes in, as it also bounds the memory for pictures. */
static void take_slot(struct request *r)
{
	struct analyzer *a = r->analyzer;

	r->slot = atomic_fetch_add(&a->inflight, 1) < a->max_inflight;
	r->overloaded = !r->slot;
	if (!r->slot)
		atomic_fetch_sub(&a->inflight, 1);
}

static bool announced_too_long(struct request *r)
{
	const char *length =
	    MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length != NULL && strtoull(length, NULL, 10) > r->body_max;
}

static enum MHD_Result begin(struct request *r)
{
	route_find(r);
	r->open = r->route == NULL || r->route->scripted;
	if (r->open)
		stats_begin(r->analyzer->stats, r->kind);
	set_timeout(r, REQUEST_IDLE_SEC);
	if (announced_too_long(r))
		return answer_cut_off(r, MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large");
	if (r->route == NULL)
		return MHD_YES;
	if (r->route->body_use == BODY_KEPT)
		buf_init(&r->body, r->body_max);
	if (r->route->body_use == BODY_FORM) {
		take_slot(r);
		if (r->slot)
			r->form = form_new(r->connection);
	}
	return MHD_YES;
}

static enum MHD_Result receive(struct request *r, const char *data, size_t len)
{
	r->received += len;
	if (r->received > r->body_max)
		return answer_cut_off(r, MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large");
	if (clock_ms() - r->started_ms > UPLOAD_MAX_MS)
		return answer_cut_off(r, MHD_HTTP_REQUEST_TIMEOUT, "body_too_slow");
	if (r->form != NULL)
		form_feed(r->form, data, len);
	else if (r->route != NULL && r->route->body_use == BODY_KEPT && buf_append(&r->body, data, len) < 0)
		return MHD_NO; /* out of memory: the length was checked above */
	return MHD_YES;
}

/* True if the rule has taken care of the request, with *ret for the daemon. */
static bool play_rule(struct request *r, enum MHD_Result *ret)
{
	const struct script_rule *rule = r->rule;

	if (rule == NULL)
		return false;
	if (script_replaces(rule))
		request_unload(r);
	*ret = MHD_NO;
	set_timeout(r, 0);
	if (!request_wait(r, rule->delay_ms) || (rule->hang && !request_wait(r, -1)) || rule->close)
		return true;
	set_timeout(r, REQUEST_IDLE_SEC);
	if (rule->status == 0)
		return false;
	*ret = answer_rule(r, rule);
	return true;
}

static enum MHD_Result finish(struct request *r)
{
	enum MHD_Result result;

	if ((r->route == NULL || r->route->scripted) && !r->overloaded) {
		r->rule = script_take(
		    r->analyzer->script, r->method, r->path, r->form != NULL ? form_text(r->form, FORM_CAMERA_ID) : "");
		if (play_rule(r, &result))
			return result;
	}
	if (r->route != NULL)
		return r->route->handle(r);
	if (r->allow[0] != '\0')
		return answer_error(r, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed", "the path has other methods");
	return answer_error(r, MHD_HTTP_NOT_FOUND, "not_found", "there is no such path");
}

/* Called once with the headers, then for each piece of the body, then once with no piece. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *data, size_t *data_len, void **request)
{
	struct request *r = *request;
	enum MHD_Result result;

	(void)version;
	if (r == NULL) {
		*request = r = request_new(cls, connection, method, url);
		return r != NULL ? begin(r) : MHD_NO;
	}
	if (*data_len == 0)
		return finish(r);
	result = receive(r, data, *data_len);
	*data_len = 0;
	return result;
}

static void on_completed(
    void *cls, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code)
{
	(void)cls;
	(void)connection;
	(void)code;
	if (*request != NULL)
		set_timeout(*request, IDLE_SEC);
	request_free(*request);
	*request = NULL;
}

static void on_connection(
    void *cls, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	struct analyzer *a = cls;

	(void)connection;
	(void)socket_context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		stats_connection(a->stats);
}

/* The daemon complains about what clients and scripts do; that is no news to an operator. */
__attribute__((format(printf, 2, 0))) static void on_log(void *cls, const char *fmt, va_list ap)
{
	char line[512];

	(void)cls;
	vsnprintf(line, sizeof line, fmt, ap);
	log_debug("%s", line);
}

struct server *server_start(struct analyzer *a, const struct sockaddr *address, struct err *e)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC |
			 MHD_USE_ERROR_LOG;
	struct server *s = calloc(1, sizeof *s);

	if (s == NULL) {
		err_set(e, "out of memory");
		return NULL;
	}
	if (address->sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	s->analyzer = a;
	errno = 0;
	/* clang-format off */
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, a,
	    MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
	    MHD_OPTION_SOCK_ADDR, address,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, a,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVER_CONNECTIONS_MAX,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
	    MHD_OPTION_THREAD_STACK_SIZE, (size_t)THREAD_STACK,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SEC,
	    MHD_OPTION_END);
	/* clang-format on */
	if (s->daemon == NULL) {
		err_set(e, "cannot listen: %s", errno != 0 ? strerror(errno) : "the HTTP daemon did not start");
		free(s);
		return NULL;
	}
	return s;
}

static void let_end(struct analyzer *a)
{
	for (int64_t until = clock_ms() + STOP_MS; atomic_load(&a->inflight) > 0 && clock_ms() < until;)
		poll(NULL, 0, 10);
}

void server_stop(struct server *s)
{
	int fd;

	if (s == NULL)
		return;
	fd = MHD_quiesce_daemon(s->daemon);
	let_end(s->analyzer);
	MHD_stop_daemon(s->daemon);
	if (fd >= 0)
		close(fd);
	free(s);
}

unsigned server_port(const struct server *s)
{
	return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}
