/* SPDX-License-Identifier: Apache-2.0
 * The host's shared counters: one file, many processes, no count lost. */
#include "common/metrics.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 8, ADDS = 20000 };

static struct metrics *open_in(void **state)
{
	struct err e = {""};
	struct metrics *m = metrics_open(*state, &e);

	if (m == NULL)
		fail_msg("%s", e.msg);
	return m;
}

static void path_of(void **state, char ret[UNIT_PATH_MAX])
{
	snprintf(ret, UNIT_PATH_MAX, "%s/metrics", (const char *)*state);
}

static void starts_at_zero(void **state)
{
	struct metrics *m = open_in(state);
	struct stat st;
	char path[UNIT_PATH_MAX];

	for (enum metric i = 0; i < METRIC_COUNT; i++)
		assert_int_equal(metrics_get(m, i), 0);
	assert_int_equal(strlen(metrics_epoch(m)), METRICS_EPOCH_LEN);
	path_of(state, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660); /* all programs of the host share it; nobody else */
	assert_int_equal(unit_count_files(*state), 1);
	metrics_close(m);
}

static void two_mappings_share(void **state)
{
	struct metrics *a = open_in(state), *b = open_in(state);

	assert_string_equal(metrics_epoch(a), metrics_epoch(b));
	metrics_add(a, METRIC_LEASE_GRANTED);
	metrics_add(b, METRIC_LEASE_GRANTED);
	metrics_add(b, METRIC_REQUESTS);
	assert_int_equal(metrics_get(a, METRIC_LEASE_GRANTED), 2);
	assert_int_equal(metrics_get(b, METRIC_LEASE_GRANTED), 2);
	assert_int_equal(metrics_get(a, METRIC_REQUESTS), 1);
	assert_int_equal(metrics_get(a, METRIC_BAD_REQUESTS), 0);
	metrics_close(a);
	assert_int_equal(metrics_get(b, METRIC_LEASE_GRANTED), 2);
	metrics_close(b);
}

static void values_outlive_the_programs(void **state)
{
	struct metrics *m = open_in(state);
	char epoch[METRICS_EPOCH_LEN + 1];

	metrics_add(m, METRIC_HEARTBEAT_OK);
	snprintf(epoch, sizeof epoch, "%s", metrics_epoch(m));
	metrics_close(m);
	m = open_in(state);
	assert_int_equal(metrics_get(m, METRIC_HEARTBEAT_OK), 1);
	assert_string_equal(metrics_epoch(m), epoch);
	metrics_close(m);
}

static void a_lost_file_is_a_new_epoch(void **state)
{
	struct metrics *old = open_in(state), *new;
	char path[UNIT_PATH_MAX];

	metrics_add(old, METRIC_REQUESTS);
	path_of(state, path);
	assert_int_equal(unlink(path), 0);
	new = open_in(state);
	assert_string_not_equal(metrics_epoch(old), metrics_epoch(new));
	assert_int_equal(metrics_get(new, METRIC_REQUESTS), 0);
	metrics_close(old);
	metrics_close(new);
}

static void replace(void **state, const void *data, size_t len)
{
	struct metrics *m;
	char path[UNIT_PATH_MAX];

	unit_write(*state, "metrics", data, len, path);
	m = open_in(state);
	assert_int_equal(strspn(metrics_epoch(m), "0123456789abcdef"), METRICS_EPOCH_LEN);
	for (enum metric i = 0; i < METRIC_COUNT; i++)
		assert_int_equal(metrics_get(m, i), 0);
	metrics_add(m, METRIC_REQUESTS);
	assert_int_equal(metrics_get(m, METRIC_REQUESTS), 1);
	metrics_close(m);
	assert_int_equal(unit_count_files(*state), 1);
}

static void another_layout_is_replaced(void **state)
{
	static char zeros[1024 * 1024];
	struct metrics *m = open_in(state);
	struct stat st;
	char path[UNIT_PATH_MAX];

	metrics_close(m);
	path_of(state, path);
	assert_int_equal(stat(path, &st), 0);
	assert_true((size_t)st.st_size < sizeof zeros);
	replace(state, "", 0);
	replace(state, "short", 5);
	replace(state, zeros, (size_t)st.st_size - 8);
	replace(state, zeros, (size_t)st.st_size + 8);
	replace(state, zeros, (size_t)st.st_size); /* the size, but not the file */
	memset(zeros, 'x', sizeof zeros);
	replace(state, zeros, (size_t)st.st_size);
	memset(zeros, 0, sizeof zeros);
}

static void no_directory(void **state)
{
	struct err e = {""};
	char path[UNIT_PATH_MAX];
	static char overlong[1000];

	snprintf(path, sizeof path, "%s/none", (const char *)*state);
	assert_null(metrics_open(path, &e));
	assert_contains(e.msg, path);
	memset(overlong, 'x', sizeof overlong - 1);
	assert_null(metrics_open(overlong, &e));
	assert_contains(e.msg, "too long");
	assert_null(metrics_open(path, NULL));
}

/* A link left by somebody must not lead the counters elsewhere. */
static void a_link_is_not_followed(void **state)
{
	struct err e = {""};
	char path[UNIT_PATH_MAX], target[UNIT_PATH_MAX];
	struct metrics *m = open_in(state);

	metrics_close(m);
	path_of(state, path);
	snprintf(target, sizeof target, "%s/target", (const char *)*state);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_null(metrics_open(*state, &e));
	assert_contains(e.msg, path);
}

static void works_without_counters(void **state)
{
	(void)state;
	metrics_add(NULL, METRIC_REQUESTS);
	assert_int_equal(metrics_get(NULL, METRIC_REQUESTS), 0);
	assert_string_equal(metrics_epoch(NULL), "");
	metrics_close(NULL);
}

static void names_are_distinct(void **state)
{
	(void)state;
	for (enum metric i = 0; i < METRIC_COUNT; i++) {
		assert_non_null(metrics_key(i));
		for (enum metric j = 0; j < i; j++)
			assert_string_not_equal(metrics_key(i), metrics_key(j));
	}
	/* metrics_record() and the view refusals count on these words. */
	assert_string_equal(metrics_key(METRIC_LEASE_GRANTED), "lease_granted");
	assert_string_equal(metrics_key(METRIC_LEASE_REFUSED_OVER_CAPACITY), "lease_refused_over_capacity");
}

/* Each child opens the file by itself, which also races its creation. Returns only in the parent. */
static void spawn_adders(void **state, pid_t pids[PROCESSES])
{
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			struct metrics *m = metrics_open(*state, NULL);

			for (int n = 0; m != NULL && n < ADDS; n++) {
				metrics_add(m, METRIC_REQUESTS);
				if (n % 2 == 0)
					metrics_add(m, METRIC_DB_RECONNECTS);
			}
			_exit(m != NULL ? 0 : 1);
		}
	}
}

static void many_processes_lose_nothing(void **state)
{
	struct metrics *m;
	pid_t pids[PROCESSES];
	int status;

	spawn_adders(state, pids);
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	m = open_in(state);
	assert_int_equal(metrics_get(m, METRIC_REQUESTS), PROCESSES * ADDS);
	assert_int_equal(metrics_get(m, METRIC_DB_RECONNECTS), PROCESSES * ADDS / 2);
	assert_int_equal(metrics_get(m, METRIC_LEASE_GRANTED), 0);
	metrics_close(m);
	assert_int_equal(unit_count_files(*state), 1);
}

/* All find a file that is none of ours. If two made a new one each, the first would count into a lost file. */
static void a_foreign_file_is_replaced_once(void **state)
{
	enum { ROUNDS = 4 };
	pid_t pids[PROCESSES];
	char path[UNIT_PATH_MAX];
	int status;

	for (int round = 0; round < ROUNDS; round++) {
		struct metrics *m;

		unit_write(*state, "metrics", "an older layout", 15, path);
		spawn_adders(state, pids);
		for (int i = 0; i < PROCESSES; i++) {
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
		m = open_in(state);
		assert_int_equal(metrics_get(m, METRIC_REQUESTS), PROCESSES * ADDS);
		metrics_close(m);
	}
}

static uint64_t count_of(const struct metrics_histogram *h)
{
	uint64_t n = 0;

	for (int i = 0; i <= METRICS_BUCKETS; i++)
		n += h->counts[i];
	return n;
}

static void histograms_sort_by_their_bounds(void **state)
{
	struct metrics *a = open_in(state), *b = open_in(state);
	struct metrics_histogram h;

	for (int i = 0; i < METRICS_BUCKETS; i++)
		metrics_observe(a, HISTOGRAM_DATABASE, metrics_bounds_us[i]); /* a bound belongs to its bucket */
	metrics_observe(a, HISTOGRAM_DATABASE, 0);
	metrics_observe(a, HISTOGRAM_DATABASE, -5); /* of a clock that was set back */
	metrics_observe(b, HISTOGRAM_DATABASE, 5000001);
	metrics_observe(b, HISTOGRAM_DATABASE, INT64_MAX / 4);
	metrics_read(a, HISTOGRAM_DATABASE, &h);
	assert_int_equal(h.counts[0], 3);
	for (int i = 1; i < METRICS_BUCKETS; i++)
		assert_int_equal(h.counts[i], 1);
	assert_int_equal(h.counts[METRICS_BUCKETS], 2);
	assert_int_equal(h.sum_us, 9441000 + 5000001 + INT64_MAX / 4);
	metrics_read(a, HISTOGRAM_NODE_CALL, &h);
	assert_int_equal(count_of(&h), 0);
	metrics_close(a);
	metrics_close(b);
}

static void requests_go_by_route_and_status(void **state)
{
	struct metrics *m = open_in(state);
	struct metrics_histogram h;

	metrics_observe_request(m, ROUTE_LEASE, 201, 700);
	metrics_observe_request(m, ROUTE_LEASE, 200, 700);
	metrics_observe_request(m, ROUTE_LEASE, 503, 2000);
	metrics_observe_request(m, ROUTE_HEALTH, 599, 1);
	metrics_observe_request(m, ROUTE_HEALTH, 600, 1); /* is no status */
	metrics_observe_request(m, ROUTE_HEALTH, 0, 1);
	metrics_read_requests(m, ROUTE_LEASE, 0, &h);
	assert_int_equal(h.counts[0], 2);
	assert_int_equal(h.sum_us, 1400);
	metrics_read_requests(m, ROUTE_LEASE, 3, &h);
	assert_int_equal(h.counts[1], 1);
	assert_int_equal(count_of(&h), 1);
	metrics_read_requests(m, ROUTE_LEASE, 2, &h);
	assert_int_equal(count_of(&h), 0);
	metrics_read_requests(m, ROUTE_HEALTH, 3, &h);
	assert_int_equal(count_of(&h), 1);
	metrics_close(m);
}

struct seen {
	int processes, gateways;
	int64_t waiting;
};

static void see(void *arg, const char *program, const int64_t gauges[GAUGE_COUNT])
{
	struct seen *s = arg;

	s->processes++;
	s->gateways += strcmp(program, "gateway.fcgi") == 0;
	s->waiting += gauges[GAUGE_GATEWAY_WAITING];
}

static struct seen look(struct metrics *m)
{
	struct seen s = {0};

	metrics_processes(m, see, &s);
	return s;
}

static void gauges_die_with_their_process(void **state)
{
	struct metrics *m = open_in(state), *other = open_in(state);
	int ready[2];
	pid_t pid;
	char c;

	metrics_gauge_add(m, GAUGE_GATEWAY_WAITING, 9); /* without a slot: nothing */
	assert_int_equal(look(m).processes, 0);
	metrics_join(m, "gateway.fcgi");
	metrics_join(m, "gateway.fcgi"); /* has one already */
	metrics_gauge_add(m, GAUGE_GATEWAY_WAITING, 3);
	metrics_gauge_add(m, GAUGE_GATEWAY_WAITING, -1);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct metrics *mine = metrics_open(*state, NULL);

		metrics_join(mine, "a program with a name that is longer than there is room for it");
		metrics_gauge_set(mine, GAUGE_GATEWAY_WAITING, 40);
		if (mine == NULL || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(look(m).processes, 2);
	assert_int_equal(look(m).waiting, 42);
	assert_int_equal(look(other).gateways, 1);
	assert_int_equal(kill(pid, SIGKILL), 0); /* without a goodbye */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(look(m).processes, 1);
	assert_int_equal(look(other).waiting, 2);
	metrics_join(other, "cam-dispatcher"); /* the dead one's slot, from 0 */
	assert_int_equal(look(m).processes, 2);
	assert_int_equal(look(m).waiting, 2);
	metrics_close(m);
	assert_int_equal(look(other).gateways, 0);
	metrics_close(other);
	close(ready[0]);
	close(ready[1]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, unit_mkdir, unit_rmdir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(starts_at_zero),
	    T(two_mappings_share),
	    T(values_outlive_the_programs),
	    T(a_lost_file_is_a_new_epoch),
	    T(another_layout_is_replaced),
	    T(no_directory),
	    T(a_link_is_not_followed),
	    T(works_without_counters),
	    T(names_are_distinct),
	    T(many_processes_lose_nothing),
	    T(a_foreign_file_is_replaced_once),
	    T(histograms_sort_by_their_bounds),
	    T(requests_go_by_route_and_status),
	    T(gauges_die_with_their_process),
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
