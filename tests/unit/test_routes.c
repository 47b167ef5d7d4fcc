/* SPDX-License-Identifier: Apache-2.0
 * Which route an address and a method lead to. The handlers are named, never called. */
#include "fcgi/handlers.h"
#include "fcgi/routes.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define FAKE(name) \
	void name(struct api *api, struct request *r, struct answer *a) \
	{ \
		(void)api; \
		(void)r; \
		(void)a; \
		fail_msg(#name " was called"); \
	}
FAKE(handle_lease_acquire)
FAKE(handle_lease_heartbeat)
FAKE(handle_lease_release)
FAKE(handle_frame_ingest)
FAKE(handle_camera_list)
FAKE(handle_camera_latest)
FAKE(handle_event_list)
FAKE(handle_event_get)
FAKE(handle_case_attach)
FAKE(handle_case_detach)
FAKE(handle_media_link)
FAKE(handle_media_frame)
FAKE(handle_job_list)
FAKE(handle_job_retry)
FAKE(handle_job_cancel)
FAKE(handle_limits_list)
FAKE(handle_limits_set_global)
FAKE(handle_limits_set_provider)
FAKE(handle_limits_set_model)
FAKE(handle_node_list)
FAKE(handle_node_put)
FAKE(handle_pool_list)
FAKE(handle_pool_get)
FAKE(handle_pool_put)
FAKE(handle_server_put)
FAKE(handle_console_live)
FAKE(handle_console_events)
FAKE(handle_console_event)
FAKE(handle_console_operations)
FAKE(handle_system_status)
FAKE(handle_suggest)
FAKE(handle_healthz)
FAKE(handle_readyz)
FAKE(handle_metrics)

static struct request r;
static char allow[64];

static const struct route *find(const char *method, const char *path)
{
	memset(&r, 0, sizeof r);
	memset(allow, '#', sizeof allow);
	r.method = method;
	assert_true(snprintf(r.path, sizeof r.path, "%s", path) < (int)sizeof r.path);
	return route_find(&r, allow, sizeof allow);
}

static void expect(
    const char *method, const char *path, void (*handle)(struct api *, struct request *, struct answer *))
{
	const struct route *route = find(method, path);

	if (route == NULL)
		fail_msg("%s %s: no route", method, path);
	else
		assert_ptr_equal(route->handle, handle);
}

static void nothing_at(const char *method, const char *path)
{
	if (find(method, path) != NULL)
		fail_msg("%s %s: there is a route", method, path);
	assert_string_equal(allow, "");
}

static void not_allowed(const char *method, const char *path, const char *methods)
{
	if (find(method, path) != NULL)
		fail_msg("%s %s: there is a route", method, path);
	assert_string_equal(allow, methods);
}

static void the_specified_addresses(void **state)
{
	(void)state;
	expect("POST", "/api/modal/lease", handle_lease_acquire);
	expect("POST", "/api/modal/lease/abc/heartbeat", handle_lease_heartbeat);
	expect("DELETE", "/api/modal/lease/abc", handle_lease_release);
	expect("POST", "/api/frames", handle_frame_ingest);
	expect("GET", "/api/cameras", handle_camera_list);
	expect("GET", "/api/cameras/gate-1/latest.jpg", handle_camera_latest);
	expect("GET", "/api/events", handle_event_list);
	expect("GET", "/api/events/abc", handle_event_get);
	expect("PUT", "/api/events/abc/case", handle_case_attach);
	expect("DELETE", "/api/events/abc/case", handle_case_detach);
	expect("POST", "/api/media/link", handle_media_link);
	expect("GET", "/media/frame/abc", handle_media_frame);
	expect("HEAD", "/media/frame/abc", handle_media_frame);
	expect("GET", "/api/jobs", handle_job_list);
	expect("POST", "/api/jobs/7/retry", handle_job_retry);
	expect("POST", "/api/jobs/7/cancel", handle_job_cancel);
	expect("GET", "/api/nodes", handle_node_list);
	expect("PUT", "/api/nodes/a", handle_node_put);
	expect("GET", "/api/pools", handle_pool_list);
	expect("GET", "/api/pools/a", handle_pool_get);
	expect("PUT", "/api/pools/a", handle_pool_put);
	expect("GET", "/api/system/status", handle_system_status);
	expect("GET", "/api/suggest", handle_suggest);
	expect("GET", "/healthz", handle_healthz);
	expect("GET", "/readyz", handle_readyz);
}

static void roles_and_limits(void **state)
{
	const struct route *route = find("POST", "/api/modal/lease");

	(void)state;
	assert_string_equal(route->role, "viewer");
	assert_true(route->body_max > 0);
	assert_string_equal(find("GET", "/api/system/status")->role, "viewer");
	assert_null(find("GET", "/healthz")->role);
	assert_null(find("GET", "/readyz")->role);
}

static void the_path_is_captured(void **state)
{
	(void)state;
	expect("POST", "/api/modal/lease/550e8400-e29b-41d4-a716-446655440000/heartbeat", handle_lease_heartbeat);
	assert_string_equal(r.args[0], "550e8400-e29b-41d4-a716-446655440000");
	assert_null(r.args[1]);
	assert_string_equal(r.path, "/api/modal/lease/550e8400-e29b-41d4-a716-446655440000/heartbeat");
	expect("DELETE", "/api/modal/lease/x", handle_lease_release);
	assert_string_equal(r.args[0], "x");
	expect("DELETE", "/api/modal/lease/heartbeat", handle_lease_release);
	assert_string_equal(r.args[0], "heartbeat");
	expect("DELETE", "/api/modal/lease/..", handle_lease_release); /* the handler's grammar refuses it */
	assert_string_equal(r.args[0], "..");
	expect("DELETE", "/api/modal/lease/{lease_id}", handle_lease_release);
	assert_string_equal(r.args[0], "{lease_id}");
}

static void the_longest_path(void **state)
{
	static const char prefix[] = "/api/modal/lease/";
	char path[REQUEST_PATH_MAX];

	(void)state;
	memset(path, 'x', sizeof path);
	memcpy(path, prefix, strlen(prefix));
	path[sizeof path - 1] = '\0';
	expect("DELETE", path, handle_lease_release);
	assert_int_equal(strlen(r.args[0]), sizeof path - 1 - strlen(prefix));
	memset(path, '/', sizeof path - 1);
	nothing_at("GET", path);
}

static void head_is_get_without_a_body(void **state)
{
	(void)state;
	expect("HEAD", "/api/system/status", handle_system_status);
	expect("HEAD", "/healthz", handle_healthz);
	not_allowed("HEAD", "/api/modal/lease", "POST");
	not_allowed("HEAD", "/api/modal/lease/x", "DELETE");
}

static void other_methods_are_told_what_is_allowed(void **state)
{
	(void)state;
	not_allowed("GET", "/api/modal/lease", "POST");
	not_allowed("PUT", "/api/modal/lease/x", "DELETE");
	not_allowed("GET", "/api/modal/lease/x/heartbeat", "POST");
	not_allowed("POST", "/api/system/status", "GET, HEAD");
	not_allowed("DELETE", "/healthz", "GET, HEAD");
	not_allowed("OPTIONS", "/api/suggest", "GET, HEAD");
	not_allowed("get", "/api/suggest", "GET, HEAD"); /* methods are case-sensitive */
	not_allowed("GETX", "/api/suggest", "GET, HEAD");
	not_allowed("", "/api/suggest", "GET, HEAD");
}

static void unknown_addresses(void **state)
{
	(void)state;
	nothing_at("GET", "/");
	nothing_at("GET", "/api");
	nothing_at("GET", "/api/system");
	nothing_at("GET", "/api/system/statu");
	nothing_at("GET", "/api/system/statusx");
	nothing_at("GET", "/API/system/status");
	nothing_at("POST", "/api/modal/leases");
	nothing_at("GET", "api/suggest");
	nothing_at("GET", "");
	nothing_at("GET", "/api/system/status?x");
}

static void trailing_slash(void **state)
{
	(void)state;
	nothing_at("POST", "/api/modal/lease/");
	nothing_at("DELETE", "/api/modal/lease/");
	nothing_at("DELETE", "/api/modal/lease/x/");
	nothing_at("POST", "/api/modal/lease/x/heartbeat/");
	nothing_at("GET", "/api/system/status/");
	nothing_at("GET", "/healthz/");
}

static void extra_segments(void **state)
{
	(void)state;
	nothing_at("DELETE", "/api/modal/lease/x/y");
	nothing_at("POST", "/api/modal/lease/x/heartbeat/y");
	nothing_at("POST", "/api/modal/lease/x/y/heartbeat");
	nothing_at("GET", "/api/system/status/x");
	nothing_at("GET", "/x/healthz");
}

static void empty_segments(void **state)
{
	(void)state;
	nothing_at("POST", "/api/modal/lease//heartbeat");
	nothing_at("POST", "//api/modal/lease");
	nothing_at("POST", "/api//modal/lease");
	nothing_at("GET", "//healthz");
	nothing_at("GET", "//");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_specified_addresses),
	    cmocka_unit_test(roles_and_limits),
	    cmocka_unit_test(the_path_is_captured),
	    cmocka_unit_test(the_longest_path),
	    cmocka_unit_test(head_is_get_without_a_body),
	    cmocka_unit_test(other_methods_are_told_what_is_allowed),
	    cmocka_unit_test(unknown_addresses),
	    cmocka_unit_test(trailing_slash),
	    cmocka_unit_test(extra_segments),
	    cmocka_unit_test(empty_segments),
	};

	return cmocka_run_group_tests_name("fcgi routes", tests, NULL, NULL);
}
