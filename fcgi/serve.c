/* SPDX-License-Identifier: Apache-2.0 */
#include "fcgi/serve.h"

#include "common/clock.h"
#include "fcgi/language.h"
#include "fcgi/routes.h"

#include <string.h>

enum { ALLOW_MAX = 128 };

/* What a route is about, as the durations of requests are told apart; the first that fits. */
static enum metric_route subject_of(const struct route *route)
{
	static const struct {
		const char *prefix;
		enum metric_route subject;
	} subjects[] = {
	    {"/api/modal/", ROUTE_LEASE},
	    {"/api/system/", ROUTE_STATUS},
	    {"/api/suggest", ROUTE_STATUS},
	    {"/api/frames", ROUTE_FRAMES},
	    {"/api/cameras", ROUTE_EVENTS},
	    {"/api/events", ROUTE_EVENTS},
	    {"/api/media/", ROUTE_MEDIA},
	    {"/media/", ROUTE_MEDIA},
	    {"/api/infer/", ROUTE_INFER},
	    {"/api/generate", ROUTE_INFER},
	    {"/api/chat", ROUTE_INFER},
	    {"/api/tags", ROUTE_INFER},
	    {"/v1/", ROUTE_INFER},
	    {"/api/", ROUTE_ADMIN},
	    {"/healthz", ROUTE_HEALTH},
	    {"/readyz", ROUTE_HEALTH},
	    {"/metrics", ROUTE_HEALTH},
	};

	for (size_t i = 0; route != NULL && i < sizeof subjects / sizeof *subjects; i++)
		if (strncmp(route->pattern, subjects[i].prefix, strlen(subjects[i].prefix)) == 0)
			return subjects[i].subject;
	return ROUTE_OTHER;
}

/* NULL when the answer is filled in, else the code of the error that it shall be. */
static const char *dispatch(
    struct api *api, struct request *r, struct answer *a, FCGX_Request *fcgi, enum metric_route *ret_subject)
{
	const char *fault = request_parse(r, fcgi, api->conf->url_prefix);
	char allow[ALLOW_MAX] = "";
	const struct route *route = fault == NULL ? route_find(r, allow, sizeof allow) : NULL;
	const char *body_fault = request_read_body(r, route != NULL ? route->body_max : 0);

	*ret_subject = subject_of(route);
	api->now = (struct cache_moment){clock_ms(), metrics_get(api->metrics, METRIC_CHANGES)};
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

void serve(struct api *api, struct buf *body, FCGX_Request *fcgi)
{
	struct request r = {.body = *body};
	const char *method = FCGX_GetParam("REQUEST_METHOD", fcgi->envp), *fault;
	int64_t start = clock_us();
	enum metric_route subject;
	struct answer a;

	answer_init(&a, language_is_english(FCGX_GetParam("HTTP_ACCEPT_LANGUAGE", fcgi->envp)));
	fault = dispatch(api, &r, &a, fcgi, &subject);
	if (fault != NULL)
		answer_error(&a, fault);
	metrics_add(api->metrics, METRIC_REQUESTS);
	if (a.status >= 400 && a.status < 500)
		metrics_add(api->metrics, METRIC_BAD_REQUESTS);
	metrics_observe_request(api->metrics, subject, a.status, clock_us() - start);
	answer_send(&a, fcgi->out, method != NULL && strcmp(method, "HEAD") == 0);
	answer_free(&a);
	*body = r.body;
	buf_reset(body);
}
