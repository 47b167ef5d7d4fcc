/* SPDX-License-Identifier: Apache-2.0
 * The host's load from a made-up /proc. */
#include "dispatcher/procfs.h"
#include "tests/unit/unit.h"

#include <string.h>

#define STAT "cpu  100 20 30 800 50 3 7 10 5 2\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 12\n"
#define MEMINFO \
	"MemTotal:       16000000 kB\nMemFree:          500000 kB\nMemAvailable:    4000000 kB\n" \
	"SwapCached:            0 kB\nSwapTotal:       2048000 kB\nSwapFree:        1945600 kB\n"

static const struct procfs_load untouched = {11, 22, 33, 44};

/* NULL leaves the file out. */
static int read_with(void **state, const char *stat, const char *meminfo, struct procfs_load *ret, struct err *e)
{
	char path[UNIT_PATH_MAX];

	if (stat != NULL)
		unit_write(*state, "stat", stat, strlen(stat), path);
	if (meminfo != NULL)
		unit_write(*state, "meminfo", meminfo, strlen(meminfo), path);
	return procfs_read(*state, ret, e);
}

static void accept(void **state, const char *stat, const char *meminfo, struct procfs_load *ret)
{
	struct err e = {""};

	if (read_with(state, stat, meminfo, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

static void refuse(void **state, const char *stat, const char *meminfo, const char *words)
{
	struct procfs_load load = untouched;
	struct err e = {""};

	assert_int_equal(read_with(state, stat, meminfo, &load, &e), -1);
	assert_contains(e.msg, words);
	assert_memory_equal(&load, &untouched, sizeof load);
}

static void near(double is, double should)
{
	if (is < should - 0.001 || is > should + 0.001)
		fail_msg("%f is not %f", is, should);
}

static void a_usual_host(void **state)
{
	struct procfs_load load;

	accept(state, STAT, MEMINFO, &load);
	assert_int_equal(load.cpu_total, 1020); /* guest time is in user already */
	assert_int_equal(load.cpu_busy, 1020 - 800 - 50);
	near(load.memory_percent, 75);
	near(load.swap_mb, 100);
}

static void an_old_kernel_has_four_numbers(void **state)
{
	struct procfs_load load;

	accept(state, "cpu 10 20 30 40\n", MEMINFO, &load);
	assert_int_equal(load.cpu_total, 100);
	assert_int_equal(load.cpu_busy, 60);
}

static void large_numbers(void **state)
{
	struct procfs_load load;

	accept(state, "cpu 10000000000 0 0 30000000000 0 0 0 0\n",
	    "MemTotal: 8000000000000 kB\nMemAvailable: 2000000000000 kB\n", &load);
	assert_int_equal(load.cpu_total, INT64_C(40000000000));
	near(load.memory_percent, 75);
}

static void no_swap(void **state)
{
	struct procfs_load load;

	accept(state, STAT, "MemTotal: 1000 kB\nMemAvailable: 900 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n", &load);
	near(load.swap_mb, 0);
	accept(state, STAT, "MemTotal: 1000 kB\nMemAvailable: 900 kB\n", &load);
	near(load.swap_mb, 0);
	near(load.memory_percent, 10);
}

/* Containers are told numbers that do not fit together. */
static void more_free_than_there_is(void **state)
{
	struct procfs_load load;

	accept(state, STAT, "MemTotal: 1000 kB\nMemAvailable: 1200 kB\nSwapTotal: 10 kB\nSwapFree: 20 kB\n", &load);
	near(load.memory_percent, 0);
	near(load.swap_mb, 0);
}

static void order_does_not_matter(void **state)
{
	struct procfs_load load;

	accept(state, STAT, "SwapFree: 0 kB\nMemAvailable: 500 kB\nSwapTotal: 1024 kB\nMemTotal: 1000 kB\n", &load);
	near(load.memory_percent, 50);
	near(load.swap_mb, 1);
}

static void missing_files(void **state)
{
	refuse(state, NULL, NULL, "/stat: No such file");
	refuse(state, STAT, NULL, "/meminfo: No such file");
}

static void missing_fields(void **state)
{
	refuse(state, "", MEMINFO, "no cpu line");
	refuse(state, "intr 5\n", MEMINFO, "no cpu line");
	refuse(state, "cpu\n", MEMINFO, "no cpu line");
	refuse(state, "cpu 1 2 3\n", MEMINFO, "no cpu line");
	refuse(state, "cpu a b c d\n", MEMINFO, "no cpu line");
	refuse(state, STAT, "", "MemTotal or MemAvailable");
	refuse(state, STAT, "MemTotal: 1000 kB\n", "MemTotal or MemAvailable");
	refuse(state, STAT, "MemAvailable: 1000 kB\n", "MemTotal or MemAvailable");
	refuse(state, STAT, "MemTotal: x kB\nMemAvailable: 1 kB\n", "MemTotal or MemAvailable");
	refuse(state, STAT, "MemTotal: 0 kB\nMemAvailable: 0 kB\n", "MemTotal or MemAvailable");
	refuse(state, STAT, "XMemTotal: 5 kB\nMemAvailable: 1 kB\n", "MemTotal or MemAvailable");
}

/* One processor's line is not the host's. */
static void no_sum_of_the_processors(void **state)
{
	refuse(state, "cpu0 1 2 3 4 5 6 7 8\n", MEMINFO, "no cpu line");
}

static void this_host(void **state)
{
	struct procfs_load load;
	struct err e;

	(void)state;
	assert_int_equal(procfs_read("/proc", &load, &e), 0);
	assert_true(load.cpu_total > 0 && load.cpu_busy <= load.cpu_total);
	assert_true(load.memory_percent > 0 && load.memory_percent <= 100);
}

#define T(name) cmocka_unit_test_setup_teardown(name, unit_mkdir, unit_rmdir)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_usual_host),
	    T(an_old_kernel_has_four_numbers),
	    T(large_numbers),
	    T(no_swap),
	    T(more_free_than_there_is),
	    T(order_does_not_matter),
	    T(missing_files),
	    T(missing_fields),
	    T(no_sum_of_the_processors),
	    T(this_host),
	};

	return cmocka_run_group_tests_name("dispatcher procfs", tests, NULL, NULL);
}
