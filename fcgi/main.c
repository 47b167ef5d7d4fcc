/* SPDX-License-Identifier: Apache-2.0
 * camserver.fcgi: leases, status, frames in, events out. One request at a time per process; spawn-fcgi starts as
 * many processes as wanted, and any of them may serve any request. Images have a pool of their own (media.sock), since
 * an archive may be slow and leases must not wait for it. */
#include "common/log.h"
#include "common/program.h"
#include "common/spool.h"
#include "fcgi/api.h"
#include "fcgi/language.h"
#include "fcgi/rclone.h"
#include "fcgi/routes.h"

#include <stdlib.h>
#include <string.h>

enum { BODY_KEPT_MAX = 8 * 1024 * 1024, ALLOW_MAX = 128 };

/* NULL when the answer is filled in, else the code of the error that it shall be. */
static const char *dispatch(struct api *api, struct request *r, struct answer *a, FCGX_Request *fcgi)
{
	const char *fault = request_parse(r, fcgi, api->conf->url_prefix);
	char allow[ALLOW_MAX] = "";
	const struct route *route = fault == NULL ? route_find(r, allow, sizeof allow) : NULL;
	const char *body_fault = request_read_body(r, route != NULL ? route->body_max : 0);

	if (fault != NULL)
		return fault;
	if (route == NULL && allow[0] != '\0') {
		answer_header(a, "Allow", allow);
		return "METHOD_NOT_ALLOWED";
	}
	if (route == NULL)
		return "NOT_FOUND";
	if (body_fault != NULL)
		return body_fault;
	if (route->role != NULL) {
		api->role = route->role;
		fault = identity_read(&api->identity, r, a,
		    api->conf->anonymous_viewer && strcmp(route->role, "viewer") == 0,
		    *api->conf->url_prefix != '\0' ? api->conf->url_prefix : "/");
		if (fault != NULL)
			return fault;
	}
	route->handle(api, r, a);
	return NULL;
}

static void serve(struct api *api, struct buf *body, FCGX_Request *fcgi)
{
	struct request r = {.body = *body};
	const char *method = FCGX_GetParam("REQUEST_METHOD", fcgi->envp), *fault;
	struct answer a;

	answer_init(&a, language_is_english(FCGX_GetParam("HTTP_ACCEPT_LANGUAGE", fcgi->envp)));
	fault = dispatch(api, &r, &a, fcgi);
	if (fault != NULL)
		answer_error(&a, fault);
	metrics_add(api->metrics, METRIC_REQUESTS);
	if (a.status >= 400 && a.status < 500)
		metrics_add(api->metrics, METRIC_BAD_REQUESTS);
	answer_send(&a, fcgi->out, method != NULL && strcmp(method, "HEAD") == 0);
	answer_free(&a);
	*body = r.body;
	buf_reset(body);
}

int main(int argc, char **argv)
{
	static const struct program program = {
	    "camserver.fcgi", "[options]", "FastCGI program of camserver; spawn-fcgi or a web server starts it.\n"};
	struct conf conf;
	struct api api = {.conf = &conf};
	struct buf body;
	FCGX_Request fcgi;
	unsigned long reconnects = 0;
	struct err e;
	int status = EXIT_FAILURE;

	buf_init(&body, BODY_KEPT_MAX);
	if (program_start(&program, argc, argv, 0, &conf, &status) < 0)
		goto out;
	status = EXIT_FAILURE;
	if (FCGX_IsCGI() || FCGX_Init() != 0 || FCGX_InitRequest(&fcgi, 0, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		log_error("there is no FastCGI socket on standard input; start me with spawn-fcgi, as systemd/ shows");
		goto out;
	}
	api.db = db_new(conf.database_url, program.name, (int)conf.db_timeout_ms);
	if (api.db == NULL) {
		log_error("out of memory");
		goto out;
	}
	api.metrics = metrics_open(conf.run_dir, &e);
	if (api.metrics == NULL)
		log_warning("going on without counters: %s", e.msg);
	if (spool_prepare(conf.spool_dir, &e) < 0)
		log_warning("no frames can be taken in: %s", e.msg);

	while (FCGX_Accept_r(&fcgi) == 0) {
		serve(&api, &body, &fcgi);
		FCGX_Finish_r(&fcgi);
		for (; reconnects < db_reconnects(api.db); reconnects++) {
			metrics_add(api.metrics, METRIC_DB_RECONNECTS);
			log_info("the database is back");
		}
	}
	status = EXIT_SUCCESS;
out:
	rclone_free(api.rclone);
	metrics_close(api.metrics);
	db_free(api.db);
	buf_free(&body);
	conf_free(&conf);
	return status;
}
