/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/request.h"

#include "common/clock.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

struct request *request_new(struct analyzer *a, struct MHD_Connection *connection, const char *method, const char *path)
{
	struct request *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	r->analyzer = a;
	r->connection = connection;
	r->started_ms = clock_ms();
	snprintf(r->method, sizeof r->method, "%s", method);
	snprintf(r->path, sizeof r->path, "%s", path);
	buf_init(&r->body, 0);
	return r;
}

void request_free(struct request *r)
{
	if (r == NULL)
		return;
	request_end(r, 0);
	request_unload(r);
	script_drop(r->analyzer->script, r->rule);
	buf_free(&r->body);
	free(r);
}

void request_unload(struct request *r)
{
	form_free(r->form);
	r->form = NULL;
	if (r->slot)
		atomic_fetch_sub(&r->analyzer->inflight, 1);
	r->slot = false;
}

void request_end(struct request *r, unsigned status)
{
	if (r->slot)
		atomic_fetch_sub(&r->analyzer->inflight, 1);
	r->slot = false;
	if (r->open)
		stats_end(r->analyzer->stats, r->kind, status);
	r->open = false;
}

int request_fd(const struct request *r)
{
	return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

bool request_wait(struct request *r, long ms)
{
	struct pollfd fds[] = {
	    {.fd = request_fd(r), .events = POLLRDHUP}, {.fd = r->analyzer->stop_fd, .events = POLLIN}};
	int64_t until = ms < 0 ? INT64_MAX : clock_ms() + ms;

	for (;;) {
		int64_t left = until - clock_ms();

		if (left <= 0)
			return true;
		if (poll(fds, 2, left > INT_MAX ? INT_MAX : (int)left) > 0)
			return false;
	}
}
