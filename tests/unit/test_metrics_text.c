/* SPDX-License-Identifier: Apache-2.0
 * The text for Prometheus: every metric once, with help and type before its samples. */
#include "common/metrics_text.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME(text) text, sizeof text - 1

static struct metrics *open_in(void **state)
{
	struct err e = {""};
	struct metrics *m = metrics_open(*state, &e);

	if (m == NULL)
		fail_msg("%s", e.msg);
	return m;
}

static struct buf print(const struct metrics *m, const struct metrics_sample *samples, size_t n)
{
	const char *unknown;
	struct buf b;

	buf_init(&b, METRICS_TEXT_MAX);
	metrics_text(&b, m, "1.2.3", samples, n, &unknown);
	assert_false(b.failed);
	assert_null(unknown);
	return b;
}

static void counters_and_histograms(void **state)
{
	struct metrics *m = open_in(state);
	struct buf b;

	metrics_join(m, "gateway.fcgi");
	metrics_add_n(m, METRIC_LEASE_GRANTED, 7);
	metrics_add(m, METRIC_LEASE_REFUSED_OVER_CAPACITY);
	metrics_gauge_set(m, GAUGE_GATEWAY_WAITING, 5);
	metrics_observe_request(m, ROUTE_LEASE, 201, 3000);
	metrics_observe_request(m, ROUTE_LEASE, 201, 6000000);
	metrics_observe(m, HISTOGRAM_PERMIT_WAIT, 100000);
	b = print(m, NULL, 0);
	assert_contains(b.data, "# TYPE camserver_leases_granted_total counter\ncamserver_leases_granted_total 7\n");
	assert_contains(b.data, "camserver_leases_refused_total{reason=\"OVER_CAPACITY\"} 1\n");
	assert_contains(b.data, "camserver_leases_refused_total{reason=\"SYSTEM_OVERLOAD\"} 0\n");
	assert_contains(b.data, "# TYPE camserver_request_duration_seconds histogram\n");
	assert_contains(b.data,
	    "camserver_request_duration_seconds_bucket{route=\"lease\",status=\"2xx\",le=\"0.001\"} 0\n"
	    "camserver_request_duration_seconds_bucket{route=\"lease\",status=\"2xx\",le=\"0.005\"} 1\n");
	assert_contains(b.data,
	    "camserver_request_duration_seconds_bucket{route=\"lease\",status=\"2xx\",le=\"2.5\"} 1\n"
	    "camserver_request_duration_seconds_bucket{route=\"lease\",status=\"2xx\",le=\"5\"} 1\n"
	    "camserver_request_duration_seconds_bucket{route=\"lease\",status=\"2xx\",le=\"+Inf\"} 2\n"
	    "camserver_request_duration_seconds_sum{route=\"lease\",status=\"2xx\"} 6.003000\n"
	    "camserver_request_duration_seconds_count{route=\"lease\",status=\"2xx\"} 2\n");
	assert_contains(b.data, "camserver_permit_wait_seconds_bucket{le=\"0.1\"} 1\n");
	assert_contains(b.data, "camserver_permit_wait_seconds_sum 0.100000\n");
	assert_contains(b.data, "camserver_processes{program=\"gateway.fcgi\"} 1\n");
	assert_contains(b.data, "camserver_queue_size{queue=\"gateway\"} 5\n");
	assert_contains(b.data, "camserver_database_up 0\n");
	assert_contains(b.data, "camserver_build_info{version=\"1.2.3\"} 1\n");
	buf_free(&b);
	metrics_close(m);
}

static void what_the_database_tells(void **state)
{
	static const struct metrics_sample samples[] = {
	    {NAME("camserver_jobs"), {{"kind", "analyze"}, {"state", "dead"}}, "3"},
	    {NAME("camserver_queue_size"), {{"queue", "ingest"}, {NULL, NULL}}, "12"},
	    {NAME("camserver_model_running"), {{"model", "a \"model\"\nwith\\all"}, {NULL, NULL}}, "1"},
	    {NAME("camserver_jobs"), {{"kind", "notify"}, {"state", "dead"}}, "0"},
	    {NAME("camserver_ui_users"), {{NULL, NULL}, {NULL, NULL}}, "4"},
	};
	struct metrics *m = open_in(state);
	struct buf b = print(m, samples, sizeof samples / sizeof *samples);

	assert_contains(b.data, "camserver_database_up 1\n");
	assert_contains(b.data, "camserver_jobs{kind=\"analyze\",state=\"dead\"} 3\n"
				"camserver_jobs{kind=\"notify\",state=\"dead\"} 0\n");
	assert_contains(
	    b.data, "camserver_queue_size{queue=\"gateway\"} 0\ncamserver_queue_size{queue=\"ingest\"} 12\n");
	assert_contains(b.data, "camserver_model_running{model=\"a \\\"model\\\"\\nwith\\\\all\"} 1\n");
	assert_contains(b.data, "camserver_ui_users 4\n");
	assert_lacks(b.data, "camserver_pool_workers"); /* nothing told, nothing explained */
	buf_free(&b);
	metrics_close(m);
}

static void an_unknown_name_is_left_out_and_named(void **state)
{
	static const struct metrics_sample sample = {NAME("camserver_nonsense"), {{NULL, NULL}, {NULL, NULL}}, "4"};
	const char *unknown = NULL;
	struct buf b;

	(void)state;
	buf_init(&b, METRICS_TEXT_MAX);
	metrics_text(&b, NULL, "1", &sample, 1, &unknown);
	assert_string_equal(unknown, "camserver_nonsense");
	assert_lacks(b.data, "nonsense");
	buf_free(&b);
}

/* Of every metric one HELP, one TYPE, and all its samples right behind them. */
static void every_metric_stands_together(void **state)
{
	struct metrics *m = open_in(state);
	struct buf b = print(m, NULL, 0);
	char seen[128][80] = {{0}}, name[80];
	size_t n = 0;

	for (char *line = strtok(b.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		if (sscanf(line, "# HELP %79s", name) == 1) {
			for (size_t i = 0; i < n; i++)
				assert_string_not_equal(seen[i], name);
			assert_true(strlen(line) > strlen("# HELP  ") + strlen(name)); /* it says something */
			strcpy(seen[n++], name);
			assert_true(n < sizeof seen / sizeof *seen);
		} else if (line[0] != '#') {
			assert_true(n > 0 && strncmp(line, seen[n - 1], strlen(seen[n - 1])) == 0);
		}
	}
	assert_true(n > 40);
	buf_free(&b);
	metrics_close(m);
}

#define T(name) cmocka_unit_test_setup_teardown(name, unit_mkdir, unit_rmdir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(counters_and_histograms),
	    T(what_the_database_tells),
	    T(an_unknown_name_is_left_out_and_named),
	    T(every_metric_stands_together),
	};

	return cmocka_run_group_tests_name("metrics_text", tests, NULL, NULL);
}
