/* SPDX-License-Identifier: Apache-2.0
 * The host's shared counters: one file, many processes, no count lost. */
#include "common/metrics.h"
#include "tests/unit/unit.h"

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
	static char zeros[64 * 1024];
	struct metrics *m = open_in(state);
	struct stat st;
	char path[UNIT_PATH_MAX];

	metrics_close(m);
	path_of(state, path);
	assert_int_equal(stat(path, &st), 0);
	assert_true((size_t)st.st_size < sizeof zeros);
	replace(state, "", 0);
	replace(state, "short", 5);
	replace(state, zeros, (size_t)st.st_size - 8); /* a version with one counter less */
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
		assert_non_null(metrics_name(i));
		for (enum metric j = 0; j < i; j++)
			assert_string_not_equal(metrics_name(i), metrics_name(j));
	}
	/* metrics_record() and the view refusals count on these words. */
	assert_string_equal(metrics_name(METRIC_LEASE_GRANTED), "lease_granted");
	assert_string_equal(metrics_name(METRIC_LEASE_REFUSED_OVER_CAPACITY), "lease_refused_over_capacity");
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
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
