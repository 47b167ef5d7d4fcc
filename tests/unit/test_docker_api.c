/* SPDX-License-Identifier: Apache-2.0
 * What the container engine says, and what is said to it. */
#include "unit.h"

#include "common/json.h"
#include "manager/docker_api.h"
#include "manager/worker.h"

#include <string.h>

/* Not used here; worker.c wants them. */
static int no_start(struct manager *m, struct worker *w, struct err *e)
{
	(void)m;
	(void)w;
	return err_set(e, "no");
}
static void nothing(struct manager *m, struct worker *w)
{
	(void)m;
	(void)w;
}
const struct driver driver_exec = {"exec", no_start, nothing, nothing, nothing};
const struct driver driver_docker = {"docker", no_start, nothing, nothing, nothing};

static void log_frames_are_taken_off(void **state)
{
	static const char frames[] = "\1\0\0\0\0\0\0\6hello\n\2\0\0\0\0\0\0\3bad";
	struct http_answer a = {.status = 200, .body = frames, .len = sizeof frames - 1};
	char text[64];

	(void)state;
	docker_log_text(&a, text, sizeof text);
	assert_string_equal(text, "hello\nbad");
	a.len -= 2; /* cut off in the middle of a frame */
	docker_log_text(&a, text, sizeof text);
	assert_string_equal(text, "hello\nb");
	docker_log_text(&a, text, 4);
	assert_string_equal(text, "hel");
	a = (struct http_answer){.status = 200, .body = "plain \x01 text", .len = 12};
	docker_log_text(&a, text, sizeof text);
	assert_string_equal(text, "plain ? text");
	a.status = 404;
	docker_log_text(&a, text, sizeof text);
	assert_string_equal(text, "");
}

static void a_frame_that_lies_about_its_length_is_cut(void **state)
{
	static const char frames[] = "\1\0\0\0\377\377\377\377abc";
	struct http_answer a = {.status = 200, .body = frames, .len = sizeof frames - 1};
	char text[64];

	(void)state;
	docker_log_text(&a, text, sizeof text);
	assert_string_equal(text, "abc");
}

static void ends_are_described(void **state)
{
	static const struct {
		const char *body, *text;
		bool oom;
	} cases[] = {
	    {"{\"State\":{\"ExitCode\":3,\"OOMKilled\":false,\"Running\":false,\"Error\":\"\"}}",
		"its container ended with status 3", false},
	    {"{\"State\":{\"ExitCode\":137,\"OOMKilled\":true}}", "its container ended with status 137, out of memory",
		false},
	    {"{\"State\":{\"ExitCode\":137,\"OOMKilled\":false}}",
		"its container ended with status 137, killed, perhaps for want of memory", false},
	    {"{\"State\":{\"ExitCode\":127,\"Error\":\"no such file\"}}",
		"its container ended with status 127: no such file", false},
	    {"{\"State\":{\"Running\":true}}", "its container was removed by force", false},
	    {"{\"State\":{\"Running\":true}}", "its container was removed by force, out of memory", true},
	    {"{\"State\":{\"ExitCode\":137}}", "its container ended with status 137, out of memory", true},
	    {"nonsense", "its container ended with status -1", false},
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_answer a = {.status = 200, .body = cases[i].body, .len = strlen(cases[i].body)};

		docker_describe_end(&a, cases[i].oom, text, sizeof text);
		assert_string_equal(text, cases[i].text);
	}
}

static void faults_are_told_in_the_engines_words(void **state)
{
	struct http_answer a = {.status = 404, .body = "{\"message\":\"no such image\"}"};
	char text[128];

	(void)state;
	docker_fault(&a, text, sizeof text);
	assert_string_equal(text, "the container engine answers 404: no such image");
	a.body = "<html>";
	docker_fault(&a, text, sizeof text);
	assert_string_equal(text, "the container engine answers 404: no reason given");
	a = (struct http_answer){.fault = "Couldn't connect"};
	docker_fault(&a, text, sizeof text);
	assert_string_equal(text, "the container engine: Couldn't connect");
}

static const char *body_text(const char *spec, struct json_object **ret)
{
	struct manager m = {
	    .conf = {.host_name = "h", .worker_dir = "/w", .worker_address = "127.0.0.1", .docker_socket = "/s"}};
	struct worker w = {.id = "1d5bd0a5-2e45-4a43-b0e8-4a30ab0f5a0a", .port = 4711};

	w.spec = json_tokener_parse(spec);
	assert_non_null(w.spec);
	*ret = docker_create_body(&m, &w);
	json_object_put(w.spec);
	return json_object_to_json_string_ext(*ret, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void a_container_shares_the_network_or_publishes_its_port(void **state)
{
	struct json_object *body;
	const char *text;

	(void)state;
	text =
	    body_text("{\"pool\":\"p\",\"image\":\"i:1\",\"command\":[\"run\"],\"environment\":{\"A\":\"b\"}}", &body);
	assert_non_null(strstr(text, "\"Image\":\"i:1\",\"Cmd\":[\"run\"]"));
	assert_non_null(strstr(text, "\"NetworkMode\":\"host\""));
	assert_non_null(strstr(text, "\"PORT=4711\""));
	assert_non_null(strstr(text, "\"A=b\""));
	assert_non_null(strstr(text, "\"camserver.manager\":\"h:/w\",\"camserver.pool\":\"p\",\"camserver.worker\":"));
	assert_null(strstr(text, "Memory"));
	json_object_put(body);

	text = body_text("{\"pool\":\"p\",\"image\":\"i\",\"command\":[],\"container_port\":8080,\"memory_mb\":2,"
			 "\"open_files\":99}",
	    &body);
	assert_null(strstr(text, "\"Cmd\""));
	assert_null(strstr(text, "NetworkMode"));
	assert_non_null(strstr(text, "\"PORT=8080\""));
	assert_non_null(strstr(text, "\"8080/tcp\":[{\"HostIp\":\"127.0.0.1\",\"HostPort\":\"4711\"}]"));
	assert_non_null(strstr(text, "\"Memory\":2097152"));
	assert_non_null(strstr(text, "{\"Name\":\"nofile\",\"Soft\":99,\"Hard\":99}"));
	json_object_put(body);
}

static void paths_name_only_our_own(void **state)
{
	struct manager m = {.conf = {.host_name = "h", .worker_dir = "/w"}};
	char *path = docker_path_list(&m);

	(void)state;
	assert_string_equal(
	    path, "/containers/json?all=true&filters=%7B%22label%22%3A%5B%22camserver.manager%3Dh%3A%2Fw%22%5D%7D");
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(log_frames_are_taken_off),
	    cmocka_unit_test(a_frame_that_lies_about_its_length_is_cut),
	    cmocka_unit_test(ends_are_described),
	    cmocka_unit_test(faults_are_told_in_the_engines_words),
	    cmocka_unit_test(a_container_shares_the_network_or_publishes_its_port),
	    cmocka_unit_test(paths_name_only_our_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
